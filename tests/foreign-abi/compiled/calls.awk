# Joins the lines of a statement, so that each call is a line; leaves out the checks of types that the modules lack.
/&$/ { sub(/&$/, ""); sub(/^ +/, text == "" ? "  " : ""); text = text $0; next }
text != "" { sub(/^ +/, ""); print text $0; text = ""; next }
{ print }

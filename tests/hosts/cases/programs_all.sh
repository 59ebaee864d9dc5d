# All test programs that can run on several hosts, at all their sizes above 1, on four hosts over ssh. OXMPI_HOST_PROGRAMS: only
# those whose paths contain one of these words.
# alone: it takes hours; a part of make test-all
# hosts: 4
# needs: sshd
# limit: 36000
read -ra some <<<"${OXMPI_HOST_PROGRAMS:-}"
test_programs "${some[@]}" || fail "test programs failed"

// ranks: 1
// What the library reports about its ABI and about Fortran, at any time; what a Fortran library
// sets, once.
#include "../check.h"

static const char *get(MPI_Info info, const char *key) {
    static char value[128];
    int found = -1, length = sizeof value;
    OK(MPI_Info_get_string(info, key, &length, value, &found));
    return found ? value : "(missing)";
}

static void about(void) {
    int major = -1, minor = -1, version = -1, subversion = -1, length = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Info info = MPI_INFO_NULL;
    OK(MPI_Abi_get_version(&major, &minor));
    CHECK_EQ(major, MPI_ABI_VERSION);
    CHECK_EQ(minor, MPI_ABI_SUBVERSION);
    OK(MPI_Get_version(&version, &subversion));
    CHECK_EQ(version, MPI_VERSION);
    CHECK_EQ(subversion, MPI_SUBVERSION);
    OK(MPI_Get_library_version(text, &length));
    CHECK_EQ(strlen(text), length);
    CHECK(length > 0);
    OK(MPI_Abi_get_info(&info));
    CHECK_EQ(atoi(get(info, "mpi_aint_size")), sizeof(MPI_Aint));
    CHECK_EQ(atoi(get(info, "mpi_count_size")), sizeof(MPI_Count));
    CHECK_EQ(atoi(get(info, "mpi_offset_size")), sizeof(MPI_Offset));
    OK(MPI_Info_free(&info));
}

static void fortran(void) {
    MPI_Info info = MPI_INFO_ENV, wrong, given;
    int yes = 1, no = 0, got_yes = -1, got_no = -1, is_set = -1;
    OK(MPI_Abi_get_fortran_info(&info));
    CHECK(info == MPI_INFO_NULL); // not set yet
    OK(MPI_Info_create(&wrong));
    OK(MPI_Info_set(wrong, "mpi_integer_size", "8"));
    CHECK_ERROR(MPI_Abi_set_fortran_info(wrong), MPI_ERR_ABI, "mpi_integer_size");
    OK(MPI_Info_free(&wrong));
    CHECK_ERROR(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO, "MPI_INFO_NULL");
    OK(MPI_Info_create(&given));
    OK(MPI_Info_set(given, "mpi_integer_size", "4"));
    OK(MPI_Info_set(given, "mpi_real16_supported", "true"));
    OK(MPI_Abi_set_fortran_info(given));
    CHECK_ERROR(MPI_Abi_set_fortran_info(given), MPI_ERR_ABI, "MPI_Abi_set_fortran_info");
    OK(MPI_Info_free(&given));
    OK(MPI_Abi_get_fortran_info(&info));
    CHECK(!strcmp(get(info, "mpi_integer_size"), "4"));
    CHECK(!strcmp(get(info, "mpi_real16_supported"), "true"));
    OK(MPI_Info_free(&info));

    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &got_yes, &got_no, &is_set));
    CHECK(!is_set && got_yes == -1 && got_no == -1);
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG, "3");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(4, &yes, &yes), MPI_ERR_ARG, "the same");
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(4, NULL, &no), MPI_ERR_ARG, "logical_true");
    OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no), MPI_ERR_ABI, "MPI_Abi_set_fortran_booleans");
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &got_yes, &got_no, &is_set));
    CHECK(is_set && got_yes == yes && got_no == no);
}

int main(int argc, char **argv) {
    about();
    start(&argc, &argv);
    return_errors();
    about();
    fortran();
    CHECK_ERROR(MPI_Abi_get_version(NULL, NULL), MPI_ERR_ARG, "MPI_Abi_get_version");
    CHECK_ERROR(MPI_Get_version(NULL, NULL), MPI_ERR_ARG, "MPI_Get_version");
    CHECK_ERROR(MPI_Get_library_version(NULL, NULL), MPI_ERR_ARG, "MPI_Get_library_version");
    CHECK_ERROR(MPI_Abi_get_info(NULL), MPI_ERR_ARG, "MPI_Abi_get_info");
    OK(MPI_Pcontrol(1));
    OK(MPI_Pcontrol(0, "with", "more"));
    MPI_Finalize();
    about();
    return 0;
}

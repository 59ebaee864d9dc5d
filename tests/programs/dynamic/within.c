// ranks: 2 3 5
// timeout: 30
// Ranks of one job accept and connect, too; ports and names have their errors.
#include "../check.h"

static void connect_halves(void) {
    MPI_Comm half, inter, merged;
    char port[MPI_MAX_PORT_NAME] = "";
    int server = rank < size / 2, remote, got = -1;
    MPI_Comm_split(MPI_COMM_WORLD, server, rank, &half);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int turn = 0; turn < 3; turn++) {
        if (server) OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        else OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
        MPI_Comm_remote_size(inter, &remote);
        CHECK_EQ(remote, server ? size - size / 2 : size / 2);
        MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_MAX, inter);
        CHECK_EQ(got, server ? size - 1 : size / 2 - 1);
        MPI_Intercomm_merge(inter, !server, &merged);
        MPI_Comm_compare(merged, MPI_COMM_WORLD, &got);
        CHECK_EQ(got, MPI_CONGRUENT);
        MPI_Comm_free(&merged);
        MPI_Comm_disconnect(&inter);
    }
    if (rank == 0) MPI_Close_port(port);
    MPI_Comm_free(&half);
}

static void port_errors(void) {
    char port[MPI_MAX_PORT_NAME], other[MPI_MAX_PORT_NAME];
    MPI_Comm inter = MPI_COMM_SELF;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Open_port(MPI_INFO_NULL, other));
    CHECK(strcmp(port, other) != 0);
    CHECK_ERROR(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "MPI_Comm_connect");
    CHECK(inter == MPI_COMM_NULL);
    OK(MPI_Close_port(other));
    CHECK_ERROR(MPI_Close_port(other), MPI_ERR_PORT, "MPI_Close_port");
    CHECK_ERROR(MPI_Close_port("nonsense"), MPI_ERR_PORT, "nonsense");
    CHECK_ERROR(MPI_Comm_accept(other, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "MPI_Comm_accept");
    CHECK_ERROR(MPI_Comm_accept(port, MPI_INFO_NULL, 1, MPI_COMM_SELF, &inter), MPI_ERR_ROOT, "root is 1");
    CHECK_ERROR(MPI_Comm_connect("nonsense", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "nonsense");
    CHECK_ERROR(MPI_Comm_connect("oxmpi:1:2:3:0:0:4:5", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "reached");
    CHECK_ERROR(MPI_Comm_connect(NULL, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_ARG, "port_name");
    CHECK_ERROR(MPI_Open_port(MPI_INFO_NULL, NULL), MPI_ERR_ARG, "port_name");
    CHECK_ERROR(MPI_Comm_join(-1, &inter), MPI_ERR_ARG, "MPI_Comm_join");
    CHECK_ERROR(MPI_Comm_join(1000, &inter), MPI_ERR_ARG, "1000");
    // The others get an error when the root's arguments are wrong.
    CHECK_CLASS(MPI_Comm_connect("nonsense", MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_accept(rank ? "nothing" : NULL, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_ARG);
    // A port at which no process accepts, and one that is closed during the call.
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "x");
    CHECK_CLASS(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "timeout", "0.2");
    if (rank) CHECK_ERROR(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "0.2 seconds");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sleep_ms(100);
        OK(MPI_Close_port(port));
    } else {
        CHECK_ERROR(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "closed");
        CHECK_ERROR(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "not open");
    }
    MPI_Info_free(&info);
}

static void names(void) {
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "", service[400];
    int id = (int)getpid();
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(service, sizeof service, "a service of %d %0300d", id, 7);
    CHECK_ERROR(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME, "MPI_Lookup_name");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
        CHECK_ERROR(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE, "MPI_Publish_name");
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
    CHECK(strcmp(found, port) == 0);
    if (rank) {
        CHECK_ERROR(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE, "published already");
        CHECK_ERROR(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE, "MPI_Unpublish_name");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
        CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        OK(MPI_Close_port(port));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    // A name may stand for anything that is as short as the name of a port.
    MPI_Barrier(MPI_COMM_WORLD);
    memset(port, 'x', sizeof port - 1);
    memcpy(port, "elsewhere, 122", 14);
    port[sizeof port - 1] = 0;
    if (rank == 0) OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
    CHECK(strcmp(found, port) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    char *longer = calloc(1, sizeof port + 1);
    memset(longer, 'x', sizeof port);
    if (rank == 0) OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    CHECK_ERROR(MPI_Publish_name(service, MPI_INFO_NULL, longer), MPI_ERR_PORT, "characters");
    free(longer);
    CHECK_ERROR(MPI_Unpublish_name(service, MPI_INFO_NULL, "nonsense"), MPI_ERR_SERVICE, "not published");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    connect_halves();
    port_errors();
    names();
    connect_halves();
    return finish();
}

//! The functions of MPICH's C++ classes, by the C function that each calls and how it gets its arguments ([`super::call`]), and the
//! virtual tables, in the order in which programs expect them.

use super::call::*;

methods! {
    cartcomm_get_cart_rank PMPI_Cart_rank b"tai"
    cartcomm_get_coords PMPI_Cart_coords b"taaa"
    cartcomm_get_dim PMPI_Cartdim_get b"ti"
    cartcomm_get_topo PMPI_Cart_get b"taaya"
    cartcomm_map PMPI_Cart_map b"taavi"
    cartcomm_shift PMPI_Cart_shift b"taaaa"
    cartcomm_sub PMPI_Cart_sub b"tVOC"
    comm_abort PMPI_Abort b"ta"
    comm_allgather PMPI_Allgather b"aahaaht"
    comm_allgatherv PMPI_Allgatherv b"aahaaaht"
    comm_allreduce PMPI_Allreduce b"aaahht"
    comm_alltoall PMPI_Alltoall b"aahaaht"
    comm_alltoallv PMPI_Alltoallv b"aaahaaaht"
    comm_alltoallw PMPI_Alltoallw b"aaawaaawt"
    comm_barrier PMPI_Barrier b"t"
    comm_bcast PMPI_Bcast b"aahat"
    comm_bsend PMPI_Bsend b"aahaat"
    comm_bsend_init PMPI_Bsend_init b"aahaatOP"
    comm_delete_attr PMPI_Comm_delete_attr b"ta"
    comm_disconnect PMPI_Comm_disconnect b"T"
    comm_free PMPI_Comm_free b"T"
    comm_gather PMPI_Gather b"aahaahat"
    comm_gatherv PMPI_Gatherv b"aahaaahat"
    comm_get_attr PMPI_Comm_get_attr b"taaB"
    comm_get_errhandler PMPI_Comm_get_errhandler b"tOE"
    comm_get_group PMPI_Comm_group b"tOG"
    comm_get_name PMPI_Comm_get_name b"taa"
    comm_get_rank PMPI_Comm_rank b"ti"
    comm_get_size PMPI_Comm_size b"ti"
    comm_get_topology PMPI_Topo_test b"ti"
    comm_ibsend PMPI_Ibsend b"aahaatOR"
    comm_iprobe PMPI_Iprobe b"aatBn"
    comm_iprobe_status PMPI_Iprobe b"aatBp"
    comm_irecv PMPI_Irecv b"aahaatOR"
    comm_irsend PMPI_Irsend b"aahaatOR"
    comm_is_inter PMPI_Comm_test_inter b"tB"
    comm_isend PMPI_Isend b"aahaatOR"
    comm_issend PMPI_Issend b"aahaatOR"
    comm_probe PMPI_Probe b"aatn"
    comm_probe_status PMPI_Probe b"aatp"
    comm_recv PMPI_Recv b"aahaatn"
    comm_recv_init PMPI_Recv_init b"aahaatOP"
    comm_recv_status PMPI_Recv b"aahaatp"
    comm_reduce PMPI_Reduce b"aaahhat"
    comm_reduce_scatter PMPI_Reduce_scatter b"aaahht"
    comm_reduce_scatter_block PMPI_Reduce_scatter_block b"aaahht"
    comm_rsend PMPI_Rsend b"aahaat"
    comm_rsend_init PMPI_Rsend_init b"aahaatOP"
    comm_scatter PMPI_Scatter b"aahaahat"
    comm_scatterv PMPI_Scatterv b"aaahaahat"
    comm_send PMPI_Send b"aahaat"
    comm_send_init PMPI_Send_init b"aahaatOP"
    comm_sendrecv PMPI_Sendrecv b"aahaaaahaatn"
    comm_sendrecv_replace PMPI_Sendrecv_replace b"aahaaaatn"
    comm_sendrecv_replace_status PMPI_Sendrecv_replace b"aahaaaatp"
    comm_sendrecv_status PMPI_Sendrecv b"aahaaaahaatp"
    comm_set_attr PMPI_Comm_set_attr b"taa"
    comm_set_errhandler PMPI_Comm_set_errhandler b"th"
    comm_set_name PMPI_Comm_set_name b"ta"
    comm_ssend PMPI_Ssend b"aahaat"
    comm_ssend_init PMPI_Ssend_init b"aahaatOP"
    datatype_commit PMPI_Type_commit b"T"
    datatype_create_contiguous PMPI_Type_contiguous b"atOD"
    datatype_create_darray PMPI_Type_create_darray b"aaaaaaaatOD"
    datatype_create_hindexed PMPI_Type_create_hindexed b"aaatOD"
    datatype_create_hvector PMPI_Type_create_hvector b"aaatOD"
    datatype_create_indexed PMPI_Type_indexed b"aaatOD"
    datatype_create_indexed_block PMPI_Type_create_indexed_block b"aaatOD"
    datatype_create_resized PMPI_Type_create_resized b"taaOD"
    datatype_create_subarray PMPI_Type_create_subarray b"aaaaatOD"
    datatype_create_vector PMPI_Type_vector b"aaatOD"
    datatype_delete_attr PMPI_Type_delete_attr b"ta"
    datatype_free PMPI_Type_free b"T"
    datatype_get_attr PMPI_Type_get_attr b"taaB"
    datatype_get_contents PMPI_Type_get_contents b"taaaaaW"
    datatype_get_envelope PMPI_Type_get_envelope b"taaaa"
    datatype_get_extent PMPI_Type_get_extent b"taa"
    datatype_get_name PMPI_Type_get_name b"taa"
    datatype_get_size PMPI_Type_size b"ti"
    datatype_get_true_extent PMPI_Type_get_true_extent b"taa"
    datatype_pack_external PMPI_Pack_external b"aaataaa"
    datatype_pack_external_size PMPI_Pack_external_size b"aatl"
    datatype_set_attr PMPI_Type_set_attr b"taa"
    datatype_set_name PMPI_Type_set_name b"ta"
    datatype_unpack_external PMPI_Unpack_external b"aaaaaat"
    errhandler_free PMPI_Errhandler_free b"T"
    file_close PMPI_File_close b"T"
    file_get_amode PMPI_File_get_amode b"ti"
    file_get_atomicity PMPI_File_get_atomicity b"tB"
    file_get_byte_offset PMPI_File_get_byte_offset b"tal"
    file_get_errhandler PMPI_File_get_errhandler b"tOE"
    file_get_group PMPI_File_get_group b"tOG"
    file_get_info PMPI_File_get_info b"tOJ"
    file_get_position PMPI_File_get_position b"tl"
    file_get_position_shared PMPI_File_get_position_shared b"tl"
    file_get_size PMPI_File_get_size b"tl"
    file_get_type_extent PMPI_File_get_type_extent b"thl"
    file_get_view PMPI_File_get_view b"tappa"
    file_iread PMPI_File_iread b"taahOR"
    file_iread_at PMPI_File_iread_at b"taaahOR"
    file_iread_shared PMPI_File_iread_shared b"taahOR"
    file_iwrite PMPI_File_iwrite b"taahOR"
    file_iwrite_at PMPI_File_iwrite_at b"taaahOR"
    file_iwrite_shared PMPI_File_iwrite_shared b"taahOR"
    file_preallocate PMPI_File_preallocate b"ta"
    file_read PMPI_File_read b"taahn"
    file_read_all PMPI_File_read_all b"taahn"
    file_read_all_begin PMPI_File_read_all_begin b"taah"
    file_read_all_end PMPI_File_read_all_end b"tan"
    file_read_all_end_status PMPI_File_read_all_end b"tap"
    file_read_all_status PMPI_File_read_all b"taahp"
    file_read_at PMPI_File_read_at b"taaahn"
    file_read_at_all PMPI_File_read_at_all b"taaahn"
    file_read_at_all_begin PMPI_File_read_at_all_begin b"taaah"
    file_read_at_all_end PMPI_File_read_at_all_end b"tan"
    file_read_at_all_end_status PMPI_File_read_at_all_end b"tap"
    file_read_at_all_status PMPI_File_read_at_all b"taaahp"
    file_read_at_status PMPI_File_read_at b"taaahp"
    file_read_ordered PMPI_File_read_ordered b"taahn"
    file_read_ordered_begin PMPI_File_read_ordered_begin b"taah"
    file_read_ordered_end PMPI_File_read_ordered_end b"tan"
    file_read_ordered_end_status PMPI_File_read_ordered_end b"tap"
    file_read_ordered_status PMPI_File_read_ordered b"taahp"
    file_read_shared PMPI_File_read_shared b"taahn"
    file_read_shared_status PMPI_File_read_shared b"taahp"
    file_read_status PMPI_File_read b"taahp"
    file_seek PMPI_File_seek b"taa"
    file_seek_shared PMPI_File_seek_shared b"taa"
    file_set_atomicity PMPI_File_set_atomicity b"tb"
    file_set_errhandler PMPI_File_set_errhandler b"th"
    file_set_info PMPI_File_set_info b"th"
    file_set_size PMPI_File_set_size b"ta"
    file_set_view PMPI_File_set_view b"tahhah"
    file_sync PMPI_File_sync b"t"
    file_write PMPI_File_write b"taahn"
    file_write_all PMPI_File_write_all b"taahn"
    file_write_all_begin PMPI_File_write_all_begin b"taah"
    file_write_all_end PMPI_File_write_all_end b"tan"
    file_write_all_end_status PMPI_File_write_all_end b"tap"
    file_write_all_status PMPI_File_write_all b"taahp"
    file_write_at PMPI_File_write_at b"taaahn"
    file_write_at_all PMPI_File_write_at_all b"taaahn"
    file_write_at_all_begin PMPI_File_write_at_all_begin b"taaah"
    file_write_at_all_end PMPI_File_write_at_all_end b"tan"
    file_write_at_all_end_status PMPI_File_write_at_all_end b"tap"
    file_write_at_all_status PMPI_File_write_at_all b"taaahp"
    file_write_at_status PMPI_File_write_at b"taaahp"
    file_write_ordered PMPI_File_write_ordered b"taahn"
    file_write_ordered_begin PMPI_File_write_ordered_begin b"taah"
    file_write_ordered_end PMPI_File_write_ordered_end b"tan"
    file_write_ordered_end_status PMPI_File_write_ordered_end b"tap"
    file_write_ordered_status PMPI_File_write_ordered b"taahp"
    file_write_shared PMPI_File_write_shared b"taahn"
    file_write_shared_status PMPI_File_write_shared b"taahp"
    file_write_status PMPI_File_write b"taahp"
    graphcomm_get_dims PMPI_Graphdims_get b"taa"
    graphcomm_get_neighbors PMPI_Graph_neighbors b"taaa"
    graphcomm_get_neighbors_count PMPI_Graph_neighbors_count b"tai"
    graphcomm_get_topo PMPI_Graph_get b"taaaa"
    graphcomm_map PMPI_Graph_map b"taaai"
    grequest_complete PMPI_Grequest_complete b"t"
    group_excl PMPI_Group_excl b"taaOG"
    group_free PMPI_Group_free b"T"
    group_get_rank PMPI_Group_rank b"ti"
    group_get_size PMPI_Group_size b"ti"
    group_incl PMPI_Group_incl b"taaOG"
    group_range_excl PMPI_Group_range_excl b"taaOG"
    group_range_incl PMPI_Group_range_incl b"taaOG"
    info_delete PMPI_Info_delete b"ta"
    info_free PMPI_Info_free b"T"
    info_get PMPI_Info_get b"taaaB"
    info_get_nkeys PMPI_Info_get_nkeys b"ti"
    info_get_nthkey PMPI_Info_get_nthkey b"taa"
    info_get_valuelen PMPI_Info_get_valuelen b"taaB"
    info_set PMPI_Info_set b"taa"
    intercomm_get_remote_group PMPI_Comm_remote_group b"tOG"
    intercomm_get_remote_size PMPI_Comm_remote_size b"ti"
    intercomm_split PMPI_Comm_split b"taaON"
    intracomm_accept PMPI_Comm_accept b"ahatON"
    intracomm_connect PMPI_Comm_connect b"ahatON"
    intracomm_create PMPI_Comm_create b"thOI"
    intracomm_create_intercomm PMPI_Intercomm_create b"tahaaON"
    intracomm_exscan PMPI_Exscan b"aaahht"
    intracomm_scan PMPI_Scan b"aaahht"
    intracomm_split PMPI_Comm_split b"taaOI"
    op_free PMPI_Op_free b"T"
    op_is_commutative PMPI_Op_commutative b"tB"
    op_reduce_local PMPI_Reduce_local b"aaaht"
    prequest_start PMPI_Start b"T"
    request_cancel PMPI_Cancel b"T"
    request_free PMPI_Request_free b"T"
    request_get_status PMPI_Request_get_status b"tBn"
    request_get_status_status PMPI_Request_get_status b"tBp"
    request_test PMPI_Test b"TBn"
    request_test_status PMPI_Test b"TBp"
    request_wait PMPI_Wait b"Tn"
    request_wait_status PMPI_Wait b"Tp"
    status_get_count PMPI_Get_count b"Thi"
    status_get_elements PMPI_Get_elements b"Thi"
    status_is_cancelled PMPI_Test_cancelled b"TB"
    status_set_cancelled PMPI_Status_set_cancelled b"Tb"
    status_set_elements PMPI_Status_set_elements b"Tha"
    win_accumulate PMPI_Accumulate b"aahaaahht"
    win_complete PMPI_Win_complete b"t"
    win_delete_attr PMPI_Win_delete_attr b"ta"
    win_fence PMPI_Win_fence b"at"
    win_free PMPI_Win_free b"T"
    win_get PMPI_Get b"aahaaaht"
    win_get_attr PMPI_Win_get_attr b"taaB"
    win_get_errhandler PMPI_Win_get_errhandler b"tOE"
    win_get_group PMPI_Win_get_group b"tOG"
    win_get_name PMPI_Win_get_name b"taa"
    win_lock PMPI_Win_lock b"aaat"
    win_post PMPI_Win_post b"hat"
    win_put PMPI_Put b"aahaaaht"
    win_set_attr PMPI_Win_set_attr b"taa"
    win_set_errhandler PMPI_Win_set_errhandler b"th"
    win_set_name PMPI_Win_set_name b"ta"
    win_start PMPI_Win_start b"hat"
    win_test PMPI_Win_test b"tB"
    win_unlock PMPI_Win_unlock b"at"
    win_wait PMPI_Win_wait b"t"
}

exported! {
    close_port "_ZN3MPI10Close_portEPKc" PMPI_Close_port b"sa";
    get_address "_ZN3MPI11Get_addressEPKv" PMPI_Get_address b"sal";
    get_version "_ZN3MPI11Get_versionERiS0_" PMPI_Get_version b"saa";
    init_thread "_ZN3MPI11Init_threadERiRPPci" PMPI_Init_thread b"saaai";
    init_thread_without "_ZN3MPI11Init_threadEi" PMPI_Init_thread b"szzai";
    lookup_name "_ZN3MPI11Lookup_nameEPKcRKNS_4InfoEPc" PMPI_Lookup_name b"saha";
    compute_dims "_ZN3MPI12Compute_dimsEiiPi" PMPI_Dims_create b"saaa";
    is_finalized "_ZN3MPI12Is_finalizedEv" PMPI_Finalized b"sB";
    publish_name "_ZN3MPI12Publish_nameEPKcRKNS_4InfoES1_" PMPI_Publish_name b"saha";
    query_thread "_ZN3MPI12Query_threadEv" PMPI_Query_thread b"si";
    attach_buffer "_ZN3MPI13Attach_bufferEPvi" PMPI_Buffer_attach b"saa";
    detach_buffer "_ZN3MPI13Detach_bufferERPv" PMPI_Buffer_detach b"sai";
    add_error_code "_ZN3MPI14Add_error_codeEi" PMPI_Add_error_code b"sai";
    is_initialized "_ZN3MPI14Is_initializedEv" PMPI_Initialized b"sB";
    is_thread_main "_ZN3MPI14Is_thread_mainEv" PMPI_Is_thread_main b"sB";
    unpublish_name "_ZN3MPI14Unpublish_nameEPKcRKNS_4InfoES1_" PMPI_Unpublish_name b"saha";
    add_error_class "_ZN3MPI15Add_error_classEv" PMPI_Add_error_class b"si";
    get_error_class "_ZN3MPI15Get_error_classEi" PMPI_Error_class b"sai";
    add_error_string "_ZN3MPI16Add_error_stringEiPKc" PMPI_Add_error_string b"saa";
    get_error_string "_ZN3MPI16Get_error_stringEiPcRi" PMPI_Error_string b"saaa";
    get_processor_name "_ZN3MPI18Get_processor_nameEPcRi" PMPI_Get_processor_name b"saa";
    op_init "_ZN3MPI2Op4InitEPFvPKvPviRKNS_8DatatypeEEb" PMPIX_Op_create_x b"kz!b1T" reduce;
    win_create_errhandler "_ZN3MPI3Win17Create_errhandlerEPFvRS0_PizE" PMPIX_Win_create_errhandler_x b"skzaOE" win_error;
    comm_get_parent "_ZN3MPI4Comm10Get_parentEv" PMPI_Comm_get_parent b"sON";
    comm_create_errhandler "_ZN3MPI4Comm17Create_errhandlerEPFvRS0_PizE" PMPIX_Comm_create_errhandler_x b"skzaOE" comm_error;
    comm_join "_ZN3MPI4Comm4JoinEi" PMPI_Comm_join b"saON";
    file_create_errhandler "_ZN3MPI4File17Create_errhandlerEPFvRS0_PizE" PMPIX_File_create_errhandler_x b"skzaOE" file_error;
    init "_ZN3MPI4InitERiRPPc" PMPI_Init b"saa";
    init_without "_ZN3MPI4InitEv" PMPI_Init b"szz";
    finalize "_ZN3MPI8FinalizeEv" PMPI_Finalize b"s";
    free_mem "_ZN3MPI8Free_memEPv" PMPI_Free_mem b"sa";
    pcontrol "_ZN3MPI8PcontrolEiz" PMPI_Pcontrol b"sa";
    alloc_mem "_ZN3MPI9Alloc_memElRKNS_4InfoE" PMPI_Alloc_mem b"sahl";
    open_port "_ZN3MPI9Open_portERKNS_4InfoEPc" PMPI_Open_port b"sha";
    datatype_pack "_ZNK3MPI8Datatype4PackEPKviPviRiRKNS_4CommE" PMPI_Pack b"aataaah";
    datatype_unpack "_ZNK3MPI8Datatype6UnpackEPKviPviRiRKNS_4CommE" PMPI_Unpack b"12534t!h";
    datatype_pack_size "_ZNK3MPI8Datatype9Pack_sizeEiRKNS_4CommE" PMPI_Pack_size b"athi";
    intercomm_merge "_ZNK3MPI9Intercomm5MergeEb" PMPI_Intercomm_merge b"tbOI";
    intracomm_create_cart "_ZNK3MPI9Intracomm11Create_cartEiPKiPKbb" PMPI_Cart_create b"taavbOC";
    intracomm_create_graph "_ZNK3MPI9Intracomm12Create_graphEiPKiS2_b" PMPI_Graph_create b"taaabOH";
}

special! {
    comm_call_errhandler "_ZNK3MPI4Comm15Call_errhandlerEi" call_comm b"ta"
    win_call_errhandler "_ZNK3MPI3Win15Call_errhandlerEi" call_win b"ta"
    file_call_errhandler "_ZNK3MPI4File15Call_errhandlerEi" call_file b"ta"
    world_call_errhandler "_ZN3MPI23MPIR_Call_world_errhandEi" call_world b"sa"
    comm_create_keyval "_ZN3MPI4Comm13Create_keyvalEPFiRKS0_iPvS3_S3_RbEPFiRS0_iS3_S3_ES3_" make_comm_key b"saaai"
    win_create_keyval "_ZN3MPI3Win13Create_keyvalEPFiRKS0_iPvS3_S3_RbEPFiRS0_iS3_S3_ES3_" make_win_key b"saaai"
    datatype_create_keyval "_ZN3MPI8Datatype13Create_keyvalEPFiRKS0_iPvS3_S3_RbEPFiRS0_iS3_S3_ES3_" make_type_key b"saaai"
    grequest_start "_ZN3MPI8Grequest5StartEPFiPvRNS_6StatusEEPFiS1_EPFiS1_bES1_" start_grequest b"aaaaOQ"
    register_datarep "_ZN3MPI16Register_datarepEPKcPFiPvRNS_8DatatypeEiS2_lS2_ES6_PFiRKS3_RlS2_ES2_" register b"saaaaa"
    register_datarep_of_intel "_ZN3MPI16Register_datarepEPKcPFiPvRNS_8DatatypeEiS2_xS2_ES6_PFiRKS3_RlS2_ES2_" register b"saaaaa"
}

table! {
    "_ZTVN3MPI8CartcommE" CARTCOMM CARTCOMM_INFORMATION:
        destroy delete comm_get_group comm_get_rank comm_bsend_init comm_ssend_init comm_is_inter comm_rsend_init
        comm_ibsend comm_abort comm_free comm_send_init comm_recv_status comm_recv comm_sendrecv_status comm_sendrecv
        comm_sendrecv_replace_status comm_sendrecv_replace comm_get_topology comm_isend comm_probe_status comm_probe
        comm_get_size comm_issend comm_set_errhandler comm_send comm_irsend comm_ssend comm_recv_init
        comm_iprobe_status comm_iprobe comm_bsend comm_irecv comm_get_errhandler comm_rsend comm_gatherv
        comm_disconnect comm_allreduce comm_alltoallw comm_alltoall comm_get_attr comm_barrier comm_bcast
        comm_set_attr comm_set_name comm_alltoallv comm_reduce_scatter comm_scatter comm_gather comm_reduce
        comm_allgather comm_delete_attr comm_scatterv comm_get_name comm_allgatherv clone_cartcomm
        comm_call_errhandler comm_reduce_scatter_block intracomm_create_intercomm intracomm_split
        intracomm_create_graph intracomm_create_cart intracomm_create intracomm_scan intracomm_exscan intracomm_accept
        intracomm_connect cartcomm_get_coords cartcomm_get_cart_rank cartcomm_get_dim cartcomm_get_topo cartcomm_map
        cartcomm_sub cartcomm_shift
}

table! {
    "_ZTVN3MPI4CommE" COMM COMM_INFORMATION:
        destroy destroy comm_get_group comm_get_rank comm_bsend_init comm_ssend_init comm_is_inter comm_rsend_init
        comm_ibsend comm_abort comm_free comm_send_init comm_recv_status comm_recv comm_sendrecv_status comm_sendrecv
        comm_sendrecv_replace_status comm_sendrecv_replace comm_get_topology comm_isend comm_probe_status comm_probe
        comm_get_size comm_issend comm_set_errhandler comm_send comm_irsend comm_ssend comm_recv_init
        comm_iprobe_status comm_iprobe comm_bsend comm_irecv comm_get_errhandler comm_rsend comm_gatherv
        comm_disconnect comm_allreduce comm_alltoallw comm_alltoall comm_get_attr comm_barrier comm_bcast
        comm_set_attr comm_set_name comm_alltoallv comm_reduce_scatter comm_scatter comm_gather comm_reduce
        comm_allgather comm_delete_attr comm_scatterv comm_get_name comm_allgatherv destroy comm_call_errhandler
        comm_reduce_scatter_block
}

table! {
    "_ZTVN3MPI8DatatypeE" DATATYPE DATATYPE_INFORMATION:
        destroy delete datatype_commit datatype_free datatype_create_indexed datatype_create_contiguous
        datatype_create_vector datatype_pack_size datatype_pack datatype_get_size datatype_get_envelope
        datatype_create_hvector datatype_create_resized datatype_create_indexed_block datatype_pack_external_size
        datatype_create_hindexed datatype_get_attr datatype_get_true_extent datatype_create_darray
        datatype_get_contents datatype_set_attr datatype_set_name datatype_create_subarray datatype_unpack_external
        datatype_pack_external datatype_get_extent datatype_delete_attr datatype_get_name
}

table! {
    "_ZTVN3MPI10ErrhandlerE" ERRHANDLER ERRHANDLER_INFORMATION:
        destroy delete errhandler_free
}

table! {
    "_ZTVN3MPI9ExceptionE" EXCEPTION EXCEPTION_INFORMATION:
        destroy delete
}

table! {
    "_ZTVN3MPI4FileE" FILE FILE_INFORMATION:
        destroy delete file_get_type_extent file_read_ordered_end_status file_read_ordered_end file_seek_shared
        file_read_ordered_status file_read_ordered file_iread_shared file_get_info file_write_ordered_begin
        file_set_info file_write_ordered_status file_write_ordered file_sync file_read_status file_read
        file_write_all_status file_write_all file_get_size file_write_all_end_status file_write_all_end
        file_read_ordered_begin file_iread_at file_write_at_all_end_status file_write_at_all_end
        file_get_position_shared file_write_shared_status file_write_shared file_iwrite_at file_get_view
        file_write_all_begin file_read_all_end_status file_read_all_end file_get_byte_offset file_iread
        file_read_at_all_end_status file_read_at_all_end file_write_at_status file_write_at file_write_at_all_begin
        file_get_errhandler file_get_amode file_set_atomicity file_get_group file_get_position file_seek
        file_read_all_begin file_read_at_all_begin file_read_all_status file_read_all file_preallocate
        file_read_at_all_status file_read_at_all file_read_shared_status file_read_shared file_iwrite
        file_iwrite_shared file_set_errhandler file_write_at_all_status file_write_at_all file_set_size file_set_view
        file_read_at_status file_read_at file_close file_write_ordered_end_status file_write_ordered_end
        file_write_status file_write file_get_atomicity file_call_errhandler
}

table! {
    "_ZTVN3MPI9GraphcommE" GRAPHCOMM GRAPHCOMM_INFORMATION:
        destroy delete comm_get_group comm_get_rank comm_bsend_init comm_ssend_init comm_is_inter comm_rsend_init
        comm_ibsend comm_abort comm_free comm_send_init comm_recv_status comm_recv comm_sendrecv_status comm_sendrecv
        comm_sendrecv_replace_status comm_sendrecv_replace comm_get_topology comm_isend comm_probe_status comm_probe
        comm_get_size comm_issend comm_set_errhandler comm_send comm_irsend comm_ssend comm_recv_init
        comm_iprobe_status comm_iprobe comm_bsend comm_irecv comm_get_errhandler comm_rsend comm_gatherv
        comm_disconnect comm_allreduce comm_alltoallw comm_alltoall comm_get_attr comm_barrier comm_bcast
        comm_set_attr comm_set_name comm_alltoallv comm_reduce_scatter comm_scatter comm_gather comm_reduce
        comm_allgather comm_delete_attr comm_scatterv comm_get_name comm_allgatherv clone_graphcomm
        comm_call_errhandler comm_reduce_scatter_block intracomm_create_intercomm intracomm_split
        intracomm_create_graph intracomm_create_cart intracomm_create intracomm_scan intracomm_exscan intracomm_accept
        intracomm_connect graphcomm_get_dims graphcomm_get_topo graphcomm_map graphcomm_get_neighbors
        graphcomm_get_neighbors_count
}

table! {
    "_ZTVN3MPI8GrequestE" GREQUEST GREQUEST_INFORMATION:
        destroy delete request_free request_wait_status request_wait request_test_status request_test request_cancel
        request_get_status_status request_get_status grequest_complete
}

table! {
    "_ZTVN3MPI5GroupE" GROUP GROUP_INFORMATION:
        destroy delete group_excl group_get_rank group_free group_range_excl group_range_incl group_incl
        group_get_size
}

table! {
    "_ZTVN3MPI4InfoE" INFO INFO_INFORMATION:
        destroy delete info_delete info_get_nthkey info_free info_set info_get_valuelen info_get info_get_nkeys
}

table! {
    "_ZTVN3MPI9IntercommE" INTERCOMM INTERCOMM_INFORMATION:
        destroy delete comm_get_group comm_get_rank comm_bsend_init comm_ssend_init comm_is_inter comm_rsend_init
        comm_ibsend comm_abort comm_free comm_send_init comm_recv_status comm_recv comm_sendrecv_status comm_sendrecv
        comm_sendrecv_replace_status comm_sendrecv_replace comm_get_topology comm_isend comm_probe_status comm_probe
        comm_get_size comm_issend comm_set_errhandler comm_send comm_irsend comm_ssend comm_recv_init
        comm_iprobe_status comm_iprobe comm_bsend comm_irecv comm_get_errhandler comm_rsend comm_gatherv
        comm_disconnect comm_allreduce comm_alltoallw comm_alltoall comm_get_attr comm_barrier comm_bcast
        comm_set_attr comm_set_name comm_alltoallv comm_reduce_scatter comm_scatter comm_gather comm_reduce
        comm_allgather comm_delete_attr comm_scatterv comm_get_name comm_allgatherv clone_intercomm
        comm_call_errhandler comm_reduce_scatter_block intercomm_merge intercomm_get_remote_group
        intercomm_get_remote_size intercomm_split
}

table! {
    "_ZTVN3MPI9IntracommE" INTRACOMM INTRACOMM_INFORMATION:
        destroy delete comm_get_group comm_get_rank comm_bsend_init comm_ssend_init comm_is_inter comm_rsend_init
        comm_ibsend comm_abort comm_free comm_send_init comm_recv_status comm_recv comm_sendrecv_status comm_sendrecv
        comm_sendrecv_replace_status comm_sendrecv_replace comm_get_topology comm_isend comm_probe_status comm_probe
        comm_get_size comm_issend comm_set_errhandler comm_send comm_irsend comm_ssend comm_recv_init
        comm_iprobe_status comm_iprobe comm_bsend comm_irecv comm_get_errhandler comm_rsend comm_gatherv
        comm_disconnect comm_allreduce comm_alltoallw comm_alltoall comm_get_attr comm_barrier comm_bcast
        comm_set_attr comm_set_name comm_alltoallv comm_reduce_scatter comm_scatter comm_gather comm_reduce
        comm_allgather comm_delete_attr comm_scatterv comm_get_name comm_allgatherv clone_intracomm
        comm_call_errhandler comm_reduce_scatter_block intracomm_create_intercomm intracomm_split
        intracomm_create_graph intracomm_create_cart intracomm_create intracomm_scan intracomm_exscan intracomm_accept
        intracomm_connect
}

table! {
    "_ZTVN3MPI8NullcommE" NULLCOMM NULLCOMM_INFORMATION:
        destroy delete comm_get_group comm_get_rank comm_bsend_init comm_ssend_init comm_is_inter comm_rsend_init
        comm_ibsend comm_abort comm_free comm_send_init comm_recv_status comm_recv comm_sendrecv_status comm_sendrecv
        comm_sendrecv_replace_status comm_sendrecv_replace comm_get_topology comm_isend comm_probe_status comm_probe
        comm_get_size comm_issend comm_set_errhandler comm_send comm_irsend comm_ssend comm_recv_init
        comm_iprobe_status comm_iprobe comm_bsend comm_irecv comm_get_errhandler comm_rsend comm_gatherv
        comm_disconnect comm_allreduce comm_alltoallw comm_alltoall comm_get_attr comm_barrier comm_bcast
        comm_set_attr comm_set_name comm_alltoallv comm_reduce_scatter comm_scatter comm_gather comm_reduce
        comm_allgather comm_delete_attr comm_scatterv comm_get_name comm_allgatherv clone_nullcomm
        comm_call_errhandler comm_reduce_scatter_block
}

table! {
    "_ZTVN3MPI2OpE" OP OP_INFORMATION:
        destroy delete op_free op_is_commutative op_reduce_local
}

table! {
    "_ZTVN3MPI8PrequestE" PREQUEST PREQUEST_INFORMATION:
        destroy delete request_free request_wait_status request_wait request_test_status request_test request_cancel
        request_get_status_status request_get_status prequest_start
}

table! {
    "_ZTVN3MPI7RequestE" REQUEST REQUEST_INFORMATION:
        destroy delete request_free request_wait_status request_wait request_test_status request_test request_cancel
        request_get_status_status request_get_status
}

table! {
    "_ZTVN3MPI6StatusE" STATUS STATUS_INFORMATION:
        destroy delete status_is_cancelled status_get_elements status_get_count status_set_cancelled
        status_set_elements
}

table! {
    "_ZTVN3MPI3WinE" WIN WIN_INFORMATION:
        destroy delete win_get_group win_fence win_start win_free win_put win_wait win_test win_get win_get_attr
        win_set_attr win_complete win_set_errhandler win_set_name win_accumulate win_post win_unlock win_delete_attr
        win_lock win_get_errhandler win_get_name win_call_errhandler
}

unsafe extern "C" {
    #[link_name = "_ZTVN10__cxxabiv117__class_type_infoE"]
    static WITHOUT_BASE: [usize; 11];
    #[link_name = "_ZTVN10__cxxabiv120__si_class_type_infoE"]
    static WITH_BASE: [usize; 11];
}

// They are variables of the library of C++, which only programs of C++ have.
std::arch::global_asm!(".weak _ZTVN10__cxxabiv117__class_type_infoE", ".weak _ZTVN10__cxxabiv120__si_class_type_infoE");

informations! {
    // What is thrown: catching compares the names of the types.
    THROWN c"N3MPI9ExceptionE";
    #[unsafe(export_name = "_ZTIN3MPI8CartcommE")]
    CARTCOMM_INFORMATION c"N3MPI8CartcommE" INTRACOMM_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI4CommE")]
    COMM_INFORMATION c"N3MPI4CommE";
    #[unsafe(export_name = "_ZTIN3MPI8DatatypeE")]
    DATATYPE_INFORMATION c"N3MPI8DatatypeE";
    #[unsafe(export_name = "_ZTIN3MPI10ErrhandlerE")]
    ERRHANDLER_INFORMATION c"N3MPI10ErrhandlerE";
    #[unsafe(export_name = "_ZTIN3MPI9ExceptionE")]
    EXCEPTION_INFORMATION c"N3MPI9ExceptionE";
    #[unsafe(export_name = "_ZTIN3MPI4FileE")]
    FILE_INFORMATION c"N3MPI4FileE";
    #[unsafe(export_name = "_ZTIN3MPI9GraphcommE")]
    GRAPHCOMM_INFORMATION c"N3MPI9GraphcommE" INTRACOMM_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI8GrequestE")]
    GREQUEST_INFORMATION c"N3MPI8GrequestE" REQUEST_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI5GroupE")]
    GROUP_INFORMATION c"N3MPI5GroupE";
    #[unsafe(export_name = "_ZTIN3MPI4InfoE")]
    INFO_INFORMATION c"N3MPI4InfoE";
    #[unsafe(export_name = "_ZTIN3MPI9IntercommE")]
    INTERCOMM_INFORMATION c"N3MPI9IntercommE" COMM_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI9IntracommE")]
    INTRACOMM_INFORMATION c"N3MPI9IntracommE" COMM_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI8NullcommE")]
    NULLCOMM_INFORMATION c"N3MPI8NullcommE" COMM_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI2OpE")]
    OP_INFORMATION c"N3MPI2OpE";
    #[unsafe(export_name = "_ZTIN3MPI8PrequestE")]
    PREQUEST_INFORMATION c"N3MPI8PrequestE" REQUEST_INFORMATION;
    #[unsafe(export_name = "_ZTIN3MPI7RequestE")]
    REQUEST_INFORMATION c"N3MPI7RequestE";
    #[unsafe(export_name = "_ZTIN3MPI6StatusE")]
    STATUS_INFORMATION c"N3MPI6StatusE";
    #[unsafe(export_name = "_ZTIN3MPI3WinE")]
    WIN_INFORMATION c"N3MPI3WinE";
}

//! What becomes of every procedure of MPI 4.1: `COVERAGE.md` is made of the table of entry points, of the list of procedures
//! that are noted, and of those below, which are of no interest to a recording.

use std::collections::{BTreeMap, BTreeSet};
use syn_trace::Call;

use crate::entry_points::tests::{MPI_ENTRY_POINTS, MPI_UNRECORDED};

/// Procedures that take no time worth a record and set no order, by the reason.
const PASSED: &[(&str, &str)] = &[
    (
        "attributes and names of objects",
        "MPI_Attr_delete MPI_Attr_get MPI_Attr_put MPI_Comm_create_keyval MPI_Comm_delete_attr MPI_Comm_free_keyval \
         MPI_Comm_get_attr MPI_Comm_get_name MPI_Comm_set_attr MPI_Comm_set_name MPI_Keyval_create MPI_Keyval_free \
         MPI_Win_create_keyval MPI_Win_delete_attr MPI_Win_free_keyval MPI_Win_get_attr MPI_Win_get_name \
         MPI_Win_set_attr MPI_Win_set_name",
    ),
    (
        "made and asked for locally; their sizes stand in the records of the calls that use them",
        "MPI_Aint_add MPI_Aint_diff MPI_Get_address MPI_Type_commit MPI_Type_contiguous MPI_Type_contiguous_c \
         MPI_Type_create_darray MPI_Type_create_darray_c MPI_Type_create_f90_complex MPI_Type_create_f90_integer \
         MPI_Type_create_f90_real MPI_Type_create_hindexed MPI_Type_create_hindexed_block \
         MPI_Type_create_hindexed_block_c MPI_Type_create_hindexed_c MPI_Type_create_hvector MPI_Type_create_hvector_c \
         MPI_Type_create_indexed_block MPI_Type_create_indexed_block_c MPI_Type_create_keyval MPI_Type_create_resized \
         MPI_Type_create_resized_c MPI_Type_create_struct MPI_Type_create_struct_c MPI_Type_create_subarray \
         MPI_Type_create_subarray_c MPI_Type_delete_attr MPI_Type_dup MPI_Type_free MPI_Type_free_keyval \
         MPI_Type_get_attr MPI_Type_get_contents MPI_Type_get_contents_c MPI_Type_get_envelope MPI_Type_get_envelope_c \
         MPI_Type_get_extent MPI_Type_get_extent_c MPI_Type_get_extent_x MPI_Type_get_name MPI_Type_get_true_extent \
         MPI_Type_get_true_extent_c MPI_Type_get_true_extent_x MPI_Type_get_value_index MPI_Type_indexed \
         MPI_Type_indexed_c MPI_Type_match_size MPI_Type_set_attr MPI_Type_set_name MPI_Type_size MPI_Type_size_c \
         MPI_Type_size_x MPI_Type_vector MPI_Type_vector_c",
    ),
    (
        "asked for locally",
        "MPI_Comm_compare MPI_Comm_get_parent MPI_Comm_rank MPI_Comm_remote_size MPI_Comm_size MPI_Comm_test_inter \
         MPI_F_sync_reg MPI_Finalized MPI_Get_library_version MPI_Get_processor_name MPI_Get_version MPI_Initialized \
         MPI_Is_thread_main MPI_Pcontrol MPI_Query_thread MPI_Sizeof MPI_Wtick MPI_Wtime",
    ),
    (
        "errors and their handlers",
        "MPI_Add_error_class MPI_Add_error_code MPI_Add_error_string MPI_Comm_call_errhandler \
         MPI_Comm_create_errhandler MPI_Comm_get_errhandler MPI_Comm_set_errhandler MPI_Errhandler_free MPI_Error_class \
         MPI_Error_string MPI_File_call_errhandler MPI_File_create_errhandler MPI_File_get_errhandler \
         MPI_File_set_errhandler MPI_Remove_error_class MPI_Remove_error_code MPI_Remove_error_string \
         MPI_Session_call_errhandler MPI_Session_create_errhandler MPI_Session_get_errhandler \
         MPI_Session_set_errhandler MPI_Win_call_errhandler MPI_Win_create_errhandler MPI_Win_get_errhandler \
         MPI_Win_set_errhandler",
    ),
    (
        "asked for locally",
        "MPI_File_get_amode MPI_File_get_atomicity MPI_File_get_byte_offset MPI_File_get_position \
         MPI_File_get_type_extent MPI_File_get_type_extent_c MPI_File_get_view",
    ),
    (
        "groups, which are made locally; the members of communicators are recorded",
        "MPI_Comm_group MPI_Comm_remote_group MPI_File_get_group MPI_Group_compare MPI_Group_difference MPI_Group_excl \
         MPI_Group_free MPI_Group_from_session_pset MPI_Group_incl MPI_Group_intersection MPI_Group_range_excl \
         MPI_Group_range_incl MPI_Group_rank MPI_Group_size MPI_Group_translate_ranks MPI_Group_union MPI_Win_get_group",
    ),
    (
        "conversions between languages",
        "MPI_Comm_c2f MPI_Comm_f2c MPI_Errhandler_c2f MPI_Errhandler_f2c MPI_File_c2f MPI_File_f2c MPI_Group_c2f \
         MPI_Group_f2c MPI_Info_c2f MPI_Info_f2c MPI_Message_c2f MPI_Message_f2c MPI_Op_c2f MPI_Op_f2c MPI_Request_c2f \
         MPI_Request_f2c MPI_Session_c2f MPI_Session_f2c MPI_Status_c2f MPI_Status_c2f08 MPI_Status_f082c \
         MPI_Status_f082f MPI_Status_f2c MPI_Status_f2f08 MPI_Type_c2f MPI_Type_f2c MPI_Win_c2f MPI_Win_f2c",
    ),
    (
        "hints",
        "MPI_Comm_get_info MPI_Comm_set_info MPI_File_get_info MPI_Get_hw_resource_info MPI_Info_create \
         MPI_Info_create_env MPI_Info_delete MPI_Info_dup MPI_Info_free MPI_Info_get MPI_Info_get_nkeys \
         MPI_Info_get_nthkey MPI_Info_get_string MPI_Info_get_valuelen MPI_Info_set MPI_Session_get_info \
         MPI_Session_get_pset_info MPI_Win_get_info MPI_Win_set_info",
    ),
    (
        "gives or takes memory locally",
        "MPI_Alloc_mem MPI_Buffer_attach MPI_Buffer_attach_c MPI_Comm_attach_buffer MPI_Comm_attach_buffer_c \
         MPI_Free_mem MPI_Win_attach MPI_Win_detach MPI_Win_shared_query MPI_Win_shared_query_c MPI_Win_sync",
    ),
    (
        "operations, and their use by one process",
        "MPI_Op_commutative MPI_Op_create MPI_Op_create_c MPI_Op_free MPI_Reduce_local MPI_Reduce_local_c",
    ),
    (
        "packing, which is work of the process",
        "MPI_Pack MPI_Pack_c MPI_Pack_external MPI_Pack_external_c MPI_Pack_external_size MPI_Pack_external_size_c \
         MPI_Pack_size MPI_Pack_size_c MPI_Unpack MPI_Unpack_c MPI_Unpack_external MPI_Unpack_external_c",
    ),
    (
        "asked for locally",
        "MPI_Session_attach_buffer MPI_Session_attach_buffer_c MPI_Session_get_nth_pset MPI_Session_get_num_psets",
    ),
    (
        "parts of a status",
        "MPI_Get_count MPI_Get_count_c MPI_Get_elements MPI_Get_elements_c MPI_Get_elements_x MPI_Status_get_error \
         MPI_Status_get_source MPI_Status_get_tag MPI_Status_set_cancelled MPI_Status_set_elements \
         MPI_Status_set_elements_c MPI_Status_set_elements_x MPI_Status_set_error MPI_Status_set_source \
         MPI_Status_set_tag MPI_Test_cancelled",
    ),
    (
        "the tool interface",
        "MPI_T_category_changed MPI_T_category_get_categories MPI_T_category_get_cvars MPI_T_category_get_events \
         MPI_T_category_get_index MPI_T_category_get_info MPI_T_category_get_num MPI_T_category_get_num_events \
         MPI_T_category_get_pvars MPI_T_cvar_get_index MPI_T_cvar_get_info MPI_T_cvar_get_num MPI_T_cvar_handle_alloc \
         MPI_T_cvar_handle_free MPI_T_cvar_read MPI_T_cvar_write MPI_T_enum_get_info MPI_T_enum_get_item \
         MPI_T_event_callback_get_info MPI_T_event_callback_set_info MPI_T_event_copy MPI_T_event_get_index \
         MPI_T_event_get_info MPI_T_event_get_num MPI_T_event_get_source MPI_T_event_get_timestamp \
         MPI_T_event_handle_alloc MPI_T_event_handle_free MPI_T_event_handle_get_info MPI_T_event_handle_set_info \
         MPI_T_event_read MPI_T_event_register_callback MPI_T_event_set_dropped_handler MPI_T_finalize \
         MPI_T_init_thread MPI_T_pvar_get_index MPI_T_pvar_get_info MPI_T_pvar_get_num MPI_T_pvar_handle_alloc \
         MPI_T_pvar_handle_free MPI_T_pvar_read MPI_T_pvar_readreset MPI_T_pvar_reset MPI_T_pvar_session_create \
         MPI_T_pvar_session_free MPI_T_pvar_start MPI_T_pvar_stop MPI_T_pvar_write MPI_T_source_get_info \
         MPI_T_source_get_num MPI_T_source_get_timestamp",
    ),
    (
        "asked for locally, or computed",
        "MPI_Cart_coords MPI_Cart_get MPI_Cart_map MPI_Cart_rank MPI_Cart_shift MPI_Cartdim_get MPI_Dims_create \
         MPI_Dist_graph_neighbors MPI_Dist_graph_neighbors_count MPI_Graph_get MPI_Graph_map MPI_Graph_neighbors \
         MPI_Graph_neighbors_count MPI_Graphdims_get MPI_Topo_test",
    ),
];

const DOCUMENT: &str = include_str!("../COVERAGE.md");

/// What becomes of each procedure.
fn coverage() -> BTreeMap<&'static str, String> {
    let recorded =
        MPI_ENTRY_POINTS.iter().copied().flatten().map(|&(name, call)| (name, recorded_as(name, call)));
    let noted = MPI_UNRECORDED
        .iter()
        .map(|&name| (name, "noted: not recorded; a run that called it is not complete".into()));
    let passed = PASSED.iter().flat_map(|(reason, names)| {
        names.split_ascii_whitespace().map(move |name| (name, format!("passed through: {reason}")))
    });
    let mut all = BTreeMap::new();
    for (name, what) in recorded.chain(noted).chain(passed) {
        if let Some(before) = all.insert(name, what) {
            assert!(before.starts_with("recorded"), "{name} is listed twice: {before}");
        }
    }
    all
}

fn recorded_as(name: &str, call: Call) -> String {
    if name == call.name() { "recorded".into() } else { format!("recorded as `{}`", call.name()) }
}

#[test]
fn the_document_lists_every_procedure() {
    let rows = coverage().into_iter().map(|(name, what)| format!("| `{name}` | {what} |\n"));
    let (front, _) = DOCUMENT.split_once("| --- | --- |\n").expect("a table");
    let made = format!("{front}| --- | --- |\n{}", rows.collect::<String>());
    if std::env::var_os("SYN_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/COVERAGE.md"), &made)
            .expect("a place in the tree");
    } else {
        assert!(made == DOCUMENT, "COVERAGE.md is not what the tables say; SYN_BLESS=1 writes it anew");
    }
}

/// The header of the standard ABI declares all procedures of MPI 5, which adds the ABI's own to those of 4.1.
#[test]
fn no_procedure_of_the_standard_is_forgotten() {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(std::path::PathBuf::from);
    let cache = cache
        .unwrap_or_else(|| std::path::Path::new(&std::env::var_os("HOME").expect("HOME")).join(".cache"));
    let header = cache.join("syn/mpis/mpich5/include/mpi_abi.h");
    let text = std::fs::read_to_string(&header)
        .unwrap_or_else(|error| panic!("{}: {error}; scripts/setup test installs it", header.display()));
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '(');
    let procedures: BTreeSet<&str> = words
        .filter_map(|word| word.split_once('(').map(|(name, _)| name))
        .filter(|name| name.starts_with("MPI_") && name.chars().any(char::is_lowercase))
        .collect();
    assert!(procedures.len() > 600, "the header was read");
    let of_mpi_5 =
        |name: &str| name.starts_with("MPI_Abi_") || name.ends_with("_toint") || name.ends_with("_fromint");
    let known = coverage();
    let forgotten: Vec<_> =
        procedures.into_iter().filter(|name| !known.contains_key(name) && !of_mpi_5(name)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

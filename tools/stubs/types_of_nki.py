"""What the parameters of nki's functions are, by their names: the functions themselves take what they are given and refuse what is wrong
with a message, so that their signatures say nothing of types."""

TENSOR, VALUE, OP, SHAPE, DTYPE = "NkiTensor", "Value", "Op | str", "Shape", "DTypeLike"
RANGE_BOUND = "int | VirtualRegister | NkiTensor"

PARAMETERS = {
    TENSOR: "dst src data data0 data1 data2 stationary moving predicate indices index src_buffer vals reduce_res dst_idx on_true_tile"
    " src_seeds val_dst idx_dst segment_ids dst_scale stationary_scale moving_scale tensor vector_offset bound0 bound1",
    VALUE: "x y operand0 operand1 initial value bias scale on_true on_false condition imm imm0 imm1 w",
    OP: "op op0 op1 reduce_op cmp_op comp_op0 comp_op1",
    SHAPE: "shape dims tile_position tile_size axes",
    DTYPE: "dtype compute_dtype",
    "int | Sequence[int]": "axis cores",
    "Sequence[Sequence[int]]": "pattern",
    "Sequence[NkiTensor]": "srcs dsts",
    "Sequence[Sequence[NkiTensor]]": "srcs_by_channel dsts_by_channel srcs0_by_channel srcs1_by_channel",
    "Sequence[tuple[int, int]]": "source_target_pairs",
    "Sequence[float]": "scales",
    "Sequence[int]": "shuffle_mask channel_ids",
    "int": "n priority channel_multiplier index_offset num_elem_per_idx num_valid_indices send_to_rank recv_from_rank pipe_id"
    " range_start collective_dim channel_id dim size end step seed indirect_dim num_elem start_dim end_dim",
    "float": "on_false_value fill_value max_value reduce_init relu_param prob rate epsilon min max padding_val",
    "Flag": "reverse0 reverse1 reverse_pred negate keepdims accumulate is_transpose is_stationary_onezero is_moving_onezero transpose_x"
    " unique_indices reduce_res_negate",
    "str": "name print_prefix",
    "engine | int | str": "engine",
    "dge_mode | int | str": "dge_mode",
    "oob_mode | int | str": "oob_mode",
    "dma_engine | int | str": "dma_engine",
    "matmul_perf_mode | str": "perf_mode",
    "reduce_cmd | int | str": "reduce_cmd",
    "MemoryRegion": "buffer",
    "tuple[int, int]": "address",
    "ReplicaGroup | Sequence[Sequence[int]]": "replica_group",
    RANGE_BOUND: "lower upper start stop iteration_id scalar_offset offset",
    "Callable[..., Any]": "body_fun kernel",
    "VirtualRegister": "init",
    "Any": "constant key src_pattern dst_pattern fixed_sizes producers edges",
}
BY_NAME = {name: kind for kind, names in PARAMETERS.items() for name in names.split()}
# Where a name means something else: by function and parameter.
EXCEPTIONS = {
    ("register_alloc", "x"): "int | NkiTensor | VirtualRegister",
    ("register_load", "dst"): "VirtualRegister",
    ("register_move", "dst"): "VirtualRegister",
    ("register_move", "src"): "int | VirtualRegister",
    ("register_store", "src"): "VirtualRegister",
    ("collective_permute_implicit_current_processing_rank_id", "iteration_id"): "int",
    ("select", "index"): "int | NkiTensor | VirtualRegister",
    ("slice", "start"): "int",
    ("slice", "end"): "int",
    ("random_seed", "seed"): "Any",
    ("num_programs", "axes"): "int | Sequence[int]",
}
# What functions return that have no annotation; those with `name` are instructions, the others of nki.language give a tile.
RETURNS = {
    "get_nc_version": "nc_version",
    "get_nc_sub_version": "int",
    "rank_id": "VirtualRegister",
    "collective_permute_implicit_current_processing_rank_id": "VirtualRegister",
    "affine_range": "Iterable[int]",
    "sequential_range": "Iterable[int]",
    "static_range": "Iterable[int]",
    "range": "Iterable[int]",
    "dynamic_range": "Iterable[VirtualRegister]",
    "device_print": "None",
    "store": "None",
    "random_seed": "None",
    "is_hbm": "Flag",
    "is_on_chip": "Flag",
    "is_psum": "Flag",
    "is_sbuf": "Flag",
    "num_programs": "int",
    "program_id": "int",
    "program_ndim": "int",
}

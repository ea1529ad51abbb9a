// Exchange with other devices and with the host.
include "glia/Graph/Base.td"

class G_Collective<string mnemonic> : G_Op<mnemonic> { let results = (outs Variadic<G_Tensor>); }
def G_Channel : OptionalAttr<G_ChannelHandle>;

def G_AllGatherOp : G_Collective<"all_gather"> {
  let arguments = (ins Variadic<G_Tensor>:$operands, I64Attr:$all_gather_dim, G_ReplicaGroups:$replica_groups,
                       G_Channel:$channel_handle, UnitAttr:$use_global_device_ids);
}
def G_AllReduceOp : G_Collective<"all_reduce"> {
  let arguments = (ins Variadic<G_Tensor>:$operands, G_ReplicaGroups:$replica_groups, G_Channel:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
}
def G_AllToAllOp : G_Collective<"all_to_all"> {
  let arguments = (ins Variadic<G_Tensor>:$operands, I64Attr:$split_dimension, I64Attr:$concat_dimension, I64Attr:$split_count,
                       G_ReplicaGroups:$replica_groups, G_Channel:$channel_handle);
}
def G_CollectiveBroadcastOp : G_Collective<"collective_broadcast"> {
  let arguments = (ins Variadic<G_Tensor>:$operands, G_ReplicaGroups:$replica_groups, G_Channel:$channel_handle,
                       UnitAttr:$has_dynamic_root);
}
def G_CollectiveReduceOp : G_Collective<"collective_reduce"> {
  let arguments = (ins Variadic<G_Tensor>:$operands, G_ReplicaGroups:$replica_groups, G_Channel:$channel_handle,
                       UnitAttr:$use_global_device_ids, UnitAttr:$has_dynamic_root);
  let regions = (region SizedRegion<1>:$computation);
}
def G_CollectivePermuteOp : G_Op<"collective_permute"> {
  let arguments = (ins G_Tensor:$operand, I64ElementsAttr:$source_target_pairs, G_Channel:$channel_handle);
  let results = (outs G_Tensor);
}
def G_CrossReplicaSumOp : G_Op<"cross-replica-sum"> {
  let arguments = (ins G_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs G_Tensor);
}
def G_ReduceScatterOp : G_Op<"reduce_scatter"> {
  let arguments = (ins G_Tensor:$operand, I64Attr:$scatter_dimension, G_ReplicaGroups:$replica_groups,
                       G_Channel:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs G_Tensor);
  let regions = (region SizedRegion<1>:$computation);
}

def G_ReplicaIdOp : G_PureOp<"replica_id"> {
  let results = (outs G_IntScalar);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def G_PartitionIdOp : G_PureOp<"partition_id"> {
  let results = (outs G_IntScalar);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def G_InfeedOp : G_Op<"infeed"> {
  let arguments = (ins G_Token:$token, DefaultValuedStrAttr<StrAttr, "">:$infeed_config, OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<G_Value>);
}
def G_OutfeedOp : G_Op<"outfeed"> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, G_Token:$token, DefaultValuedStrAttr<StrAttr, "">:$outfeed_config);
  let results = (outs G_Token);
}
def G_SendOp : G_Op<"send"> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, G_Token:$token, G_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs G_Token);
}
def G_RecvOp : G_Op<"recv"> {
  let arguments = (ins G_Token:$token, G_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<G_Value>);
}

def G_AsyncStartOp : G_Op<"async_start"> {
  let arguments = (ins Variadic<G_Tensor>:$operands);
  let results = (outs G_Future);
  let regions = (region SizedRegion<1>:$body);
}
def G_AsyncDoneOp : G_Op<"async_done"> {
  let arguments = (ins G_Future:$operand);
  let results = (outs Variadic<G_Tensor>);
}

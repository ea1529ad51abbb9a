"""Public models at reduced width through torch.compile on glia: forward and one training step, compared with torch on the CPU.

    .venv-torch/bin/python test/external/torch_models.py [--forward] [name ...]

Needs transformers and torchvision beside torch. Each model passes, is refused with a code, or is wrong; the script fails if one is wrong.
Loss and gradients are judged against double: see model_runs.py.
"""

import sys
import warnings

import torch
from model_runs import failure, judged, run


def language(kind, **options):
    def make():
        import transformers

        config = getattr(transformers, f"{kind}Config")(vocab_size=97, **options)
        named = {"Bert": "BertForMaskedLM", "T5": "T5ForConditionalGeneration"}
        name = next(
            n for n in (named.get(kind), f"{kind}LMHeadModel", f"{kind}ForCausalLM") if n and hasattr(transformers, n)
        )
        model = getattr(transformers, name)(config)
        tokens = torch.arange(2 * 12).reshape(2, 12) * 7 % 97
        return model, {"input_ids": tokens, "labels": tokens}

    return make


def whisper():
    import transformers

    config = transformers.WhisperConfig(
        vocab_size=97,
        num_mel_bins=8,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=16,
        max_target_positions=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    tokens = torch.arange(2 * 8).reshape(2, 8) * 7 % 97
    sound = torch.linspace(-1, 1, 2 * 8 * 32).reshape(2, 8, 32)
    return transformers.WhisperForConditionalGeneration(config), {"input_features": sound, "labels": tokens}


def vit():
    import transformers

    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=16,
        patch_size=4,
        num_labels=5,
    )
    return transformers.ViTForImageClassification(config), {"pixel_values": image(16), "labels": torch.tensor([1, 4])}


def image(size):
    return torch.sin(torch.arange(2 * 3 * size * size).reshape(2, 3, size, size) * 0.37)


class Classifier(torch.nn.Module):
    """A loss, as transformers' models have it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        made = self.model(x)
        return {"loss": torch.nn.functional.cross_entropy(made, labels), "logits": made}


def resnet():
    from torchvision.models.resnet import BasicBlock, ResNet

    model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5, width_per_group=64)
    return Classifier(model), {"x": image(32), "labels": torch.tensor([1, 4])}


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    model = ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)], stochastic_depth_prob=0.0, num_classes=5)
    return Classifier(model), {"x": image(32), "labels": torch.tensor([1, 4])}


class UNet(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()

        def block(a, b):
            return torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.GroupNorm(2, b), torch.nn.SiLU())

        self.down, self.middle = block(3, width), block(width, 2 * width)
        self.up = torch.nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.end = torch.nn.Sequential(block(2 * width, width), torch.nn.Conv2d(width, 5, 1))

    def forward(self, x):
        a = self.down(x)
        b = self.middle(torch.nn.functional.max_pool2d(a, 2))
        return self.end(torch.cat([a, self.up(b)], 1)).mean((2, 3))


def unet():
    return Classifier(UNet()), {"x": image(16), "labels": torch.tensor([1, 4])}


HEADS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
MODELS = {
    "gpt2": language("GPT2", n_embd=32, n_layer=2, n_head=2, n_positions=32, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
    "bert": language("Bert", **HEADS, max_position_embeddings=32, attention_probs_dropout_prob=0),
    "t5": language(
        "T5", d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0, dropout_rate=0
    ),
    "llama": language("Llama", **HEADS, num_key_value_heads=1, max_position_embeddings=32),
    # Not by torch's product of groups, which Dynamo takes in bf16 only.
    "mixtral": language(
        "Mixtral",
        **HEADS,
        num_key_value_heads=1,
        num_local_experts=4,
        max_position_embeddings=32,
        experts_implementation="batched_mm",
    ),
    "mamba": language("Mamba", hidden_size=32, num_hidden_layers=2, state_size=8, use_cache=False),
    "whisper": whisper,
    "vit": vit,
    "resnet": resnet,
    "convnext": convnext,
    "unet": unet,
}


def step(model, call, inputs, train):
    """Loss and logits, and the gradients."""
    made = call(**inputs)
    results = {"loss": made["loss"], "logits": made["logits"]}
    if train:
        made["loss"].backward()
        results |= {f"gradient of {name}": p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {name: x.detach().double().numpy() for name, x in results.items()}


def check(name, train):
    import copy

    from glia.dynamo import backend

    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout):
            m.p = 0.0
    model.train(train)
    other = copy.deepcopy(model)
    torch._dynamo.reset()
    wide = copy.deepcopy(model).double()
    want = step(other, other, inputs, train)
    exact = step(wide, wide, {k: x.double() if x.dtype.is_floating_point else x for k, x in inputs.items()}, train)
    try:
        got = step(model, torch.compile(model, backend=backend, dynamic=False), inputs, train)
    except Exception as e:
        return failure(e)
    return judged(got, want, exact)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(run(__doc__, MODELS, check))

"""What a change pulls: techniques by the words that identifiers and messages are made of. One
table; a row more is a technique more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kb.research.symbols import parts_of


@dataclass(frozen=True, slots=True)
class Technique:
    """A name of the field, the kind of change that it is, and terms that name it: parts of
    identifiers, joined by `_` where two or three must meet.
    """

    name: str
    kind: str
    terms: str


# The kinds follow what is moved: speed and memory (performance), the measured result (quality),
# where it runs (port), how work is watched (tooling).
TECHNIQUES = (
    Technique("kernel fusion", "performance", "fuse fused fusion fusing"),
    Technique("SIMD and vector instructions", "performance", "simd avx avx2 avx512 sse neon sve mm256 mm512 vectorize vectorized vectorised float4 half2 wmma mma fma dp4a intrinsics"),
    Technique("lower precision", "performance", "bfloat16 bf16 fp16 float16 fp8 float8 half autocast tf32 int8 int4 quantize quantized quant quantization matmul_precision low_precision"),
    Technique("compilation", "performance", "compile jit cudagraph cudagraphs cuda_graph cuda_graphs graph_capture fullgraph autotune inductor nvfuser forceinline always_inline torchscript march mtune flto ffast_math o3 ofast"),
    Technique("activation checkpointing", "performance", "use_reentrant remat torch_checkpoint utils_checkpoint gradient_checkpointing activation_checkpointing grad_checkpoint"),
    Technique("caching", "performance", "cache caches cached memo memoize lru precompute precomputed hoist hoisted"),
    Technique("prefetch and overlap", "performance", "prefetch prefetcher prefetching pin_memory pinned non_blocking cuda_stream async overlap double_buffer pipelined cp_async"),
    Technique("parallel work", "performance", "ddp fsdp nccl thread threads threading multithreaded parallel omp openmp rayon goroutine num_workers multiprocess multiprocessing world_size all_reduce tensor_parallel distributed data_parallel simultaneous"),
    Technique("allocation and memory", "performance", "alloc allocator arena expandable_segments preallocate preallocated inplace in_place donate empty_cache max_split memory_pool set_to_none malloc offload freeze"),
    Technique("tiling and blocks", "performance", "tile tiles tiled tiling warp warps shared_memory smem unroll blockdim block_size register_blocking swizzle occupancy launch_bounds"),
    Technique("attention kernel", "performance", "flash_attn flash_attention flashattention fa2 fa3 fa4 sdpa scaled_dot flex_attention paged_attention xformers splash block_mask"),
    Technique("fewer copies and passes", "performance", "memcpy zero_copy copy_free single_pass one_pass avoid_copy expand foreach"),
    Technique("fewer synchronisations", "performance", "synchronize synchronization sync syncs item"),
    Technique("speculation and KV cache", "performance", "speculative kv_cache draft_model"),
    Technique("sparsity", "performance", "sparse sparsity prune pruned pruning"),
    Technique("gradient accumulation and device batch", "performance", "device_batch micro_batch microbatch grad_accum eval_batch"),
    Technique("learning rate", "quality", "lr lrs learning_rate lrm"),
    Technique("schedule", "quality", "warmup warmdown cooldown schedule scheduler cosine anneal annealing wsd decay_schedule"),
    Technique("weight decay", "quality", "weight_decay wd decay"),
    Technique("optimizer", "quality", "muon adam adamw sgd momentum betas beta beta1 beta2 lion shampoo soap optimizer newton_schulz ns_steps polar sophia nesterov lookahead"),
    Technique("initialisation", "quality", "init uniform normal_ trunc_normal orthogonal_ zeros_ init_std init_scale"),
    Technique("normalisation", "quality", "rms_norm rmsnorm layernorm layer_norm qk_norm norm prenorm"),
    Technique("activation function", "quality", "relu gelu silu swiglu geglu softcap relu2 squared_relu swish activation_function"),
    Technique("positional encoding", "quality", "rope rotary alibi base_theta rope_theta positional"),
    Technique("architecture", "quality", "depth n_layer n_layers n_embd n_head n_kv_head head_dim aspect_ratio mlp hidden window_pattern short_window embedding embeddings residual residuals gate gated gating skip gqa mqa moe expert experts lm_head value_embeds lambda lambdas conv hyper_connections recurrence weight_tying"),
    Technique("regularisation", "quality", "dropout label_smoothing z_loss zloss smoothing grad_clip clip_grad stochastic_depth"),
    Technique("averaging", "quality", "ema swa model_soup polyak weight_average"),
    Technique("batch size", "quality", "total_batch batch_size global_batch seq_len sequence_len max_seq"),
    Technique("data", "quality", "curriculum mixture shuffle packing dedup vocab_size tokenization"),
    Technique("loss", "quality", "mtp multi_token auxiliary_loss distill distillation label cross_entropy"),
    Technique("another device", "port", "mps mlx metal rocm hip hipblas xpu npu tpu musa cann sycl opencl vulkan apple mac macos darwin windows win32 win64 wsl amd intel directml jetson dgx spark cpu turing pascal volta ampere blackwell rtx gtx msvc msc mingw arm armv6 armv7 aarch64 riscv powerpc ppc64 s390x endian android freebsd openbsd linux unix wasm"),
    Technique("device detection", "port", "capability device_type is_available get_device is_cuda is_rocm sys_platform platform fallback fallbacks has_triton"),
    Technique("profiling", "tooling", "profiler profile profiling nvtx tracer trace flamegraph nsys ncu benchmark benchmarks"),
    Technique("logging and display", "tooling", "logger logging log logs tensorboard wandb mlflow tqdm dashboard plot plots matplotlib chart telemetry monitor progress report reporter notify display verbose"),
    Technique("metrics reporting", "tooling", "mfu peak_flops flops utilization"),
    Technique("command line and settings", "tooling", "argparse add_argument parse_args argv cli getenv dotenv environ config_file"),
    Technique("run control", "tooling", "resume checkpoint_path save_checkpoint load_checkpoint signal timeout retry retries early_stop abort kill watchdog seed reproducible sandbox docker orchestrator agent agents worktree leaderboard sweep queue search"),
    Technique("download and storage", "tooling", "download requests urlopen"),
    Technique("checks and tests", "tooling", "pytest unittest mypy ruff lint ci workflow"),
    Technique("guards and safe input", "other", "isnan isfinite nan pickle weights_only validate validation sanity sha256 checksum verify"),
)  # fmt: skip
_TERMS = {term: technique for technique in reversed(TECHNIQUES) for term in technique.terms.split()}
_LONGEST = 3


@lru_cache(1 << 16)
def techniques_of_name(name: str) -> tuple[Technique, ...]:
    """Techniques that an identifier or word names, the longest terms first; a term within a longer
    one that was met does not count.
    """
    parts = _joined_digits(parts_of(name))
    met: dict[Technique, None] = {}
    used: set[int] = set()
    for size in range(min(_LONGEST, len(parts)), 0, -1):
        for at in range(len(parts) - size + 1):
            span = range(at, at + size)
            technique = _TERMS.get("_".join(parts[at : at + size]))
            if technique and not used & set(span):
                met[technique] = None
                used |= set(span)
    return tuple(met)


def _joined_digits(parts: tuple[str, ...]) -> tuple[str, ...]:
    """`fp`, `8` -> `fp8`: the digits of a name belong to the letters before them."""
    joined: list[str] = []
    for part in parts:
        if part.isdigit() and joined and not joined[-1].isdigit():
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def techniques_in(names: Iterable[str]) -> dict[Technique, int]:
    """Techniques of many names with how often each is named."""
    counts: dict[Technique, int] = {}
    for name in names:
        for technique in techniques_of_name(name):
            counts[technique] = counts.get(technique, 0) + 1
    return counts

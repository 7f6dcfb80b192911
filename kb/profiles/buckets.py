"""Names of operations to buckets, by published rules. Knows words of many tools and no word of any one model or repository.

First rule that matches wins; a name is tried without its template and call arguments first (`reduce_kernel<512, SoftMax>`
reduces), then whole, then by what the tool says beside it (framework path).
"""

import re
from functools import lru_cache


def _rule(bucket: str, words: str) -> tuple[str, re.Pattern[str]]:
    """A bucket and what names it. Words are patterns apart by white space. One must stand alone between non-letters; `~` lets it run on at that end."""
    alternatives = []
    for word in words.split():
        left, right = word.startswith("~"), word.endswith("~")
        alternatives.append(
            ("" if left else "(?<![a-z])")
            + "(?:"
            + word.strip("~")
            + ")"
            + ("" if right else "(?![a-z])")
        )
    return bucket, re.compile("|".join(alternatives))


RULES = (
    # Nothing ran: gaps of the device's timeline, or the processor's idle loop.
    _rule(
        "idle",
        r"idle swapper cpu_?idle (?:intel|acpi|mwait|poll|default)_idle~",
    ),
    # Between devices: all-reduce, all-gather, reduce-scatter, all-to-all, permute, send and receive.
    _rule(
        "collective",
        r"""
        ~nccl~ ~rccl~ ~all[-_\s]?reduce~ ~all[-_\s]?gather~ ~reduce[-_\s]?scatter~ ~all[-_\s]?to[-_\s]?all~ ~collective~
        ~ppermute~ c10d~ mpi (?:send|recv)(?:-done|-start)?(?=[.\d]*$) ~cross_device~ ~ring_exchange~ nvshmem~
        """,
    ),
    # Attention kernels, fused or not.
    _rule(
        "attention",
        r"~attention~ ~attn~ ~flash_?(?:fwd|bwd|decod|infer)~ ~fmha~ ~splash~ sdpa~ mha mla gqa",
    ),
    # The update of the parameters.
    _rule(
        "optimizer",
        r"~multi_tensor_apply~ adamw? sgd lamb adafactor lion ~optimizer~",
    ),
    # To and from narrow formats.
    _rule(
        "quantize",
        r"(?:de|re)?quantize_(?:row|mmq)~ ~scaled_quant~",
    ),
    # Matrix products and convolutions.
    _rule(
        "matmul",
        r"""
        ~gemm~ ~gemv~ ~mat_?mul~ ~mul_?mat~ mm bmm ~addmm~ mmq mmvq? mmf ~wgmma~ ~hmma~ ~xmma~ ~mfma~ ~vec_dot~ dot
        dot_?general~ dot_?product einsum linear tensordot ~conv(?:olution)?(?!er|ey)~ ~cudnn~ ~winograd~ ~[wd]grad~
        triton_tem~ cublas(?:lt)? trsm syrk ragged_dot~ moe_?(?:gemm|experts?)~
        """,
    ),
    # To and from narrow formats.
    _rule(
        "quantize",
        r"~quanti[sz]~ ~dequant~ quant ~fp8_cast~ ~to_fp8~",
    ),
    # Softmax, cross-entropy and norms.
    _rule(
        "normalisation",
        r"""
        ~soft_?max~ ~log_?sum_?exp~ ~cross_?entropy~ nll nll_loss~ ~(?:layer|rms|batch|group|instance)_?norm~ norm
        ~normali[sz]~
        """,
    ),
    # Bytes moved as they are: memcpy, memset, host to device and back, infeed and outfeed.
    _rule(
        "transfer",
        r"""
        ~memcpy~ ~memset~ ~memmove~ (?<!batched_)copy(?:_?kernel|-start|-done)? copy_?user~ copy_? [hd](?:to|2)[hd] infeed~
        outfeed~ transfer~ dma offload prefetch pin_memory clear_page~ rep_movs~
        """,
    ),
    # The same values at other places: transpose, reshape, slice, gather, scatter, concatenate, pad, embedding look-up.
    _rule(
        "layout",
        r"""
        ~transpose~ ~permut(?!ation_test)~ reshape bitcast~ ~slice~ concat(?:enate)? cat ~gather(?!_?top)~ ~scatter~
        pad(?:ding)? ~im2col~ nchw~ nhwc~ ~index_(?:select|put|copy|fill|add)~ index ~embedding~ relayout contiguous repeat
        data\sformatting tile (?:un)?squeeze view as_strided expand flatten narrow split chunk detach stack unfold ~swizzle~
        """,
    ),
    # Many values to few: sums, maxima, scans, sorts, top-k, pooling.
    _rule(
        "reduction",
        r"""
        ~reduc(?:e|tion)~ sum mean argm(?:ax|in) amax amin ~cumsum~ scan top_?k ~sort~ ~pool(?:ing)?\d?d? triton_(?:red|per)~
        histogram~ variance unique
        """,
    ),
    # Compilation and tracing at run time.
    _rule(
        "compile",
        r"~compil~ ~autotun~ trace_to_jaxpr~ lower(?:ing)?_ ~codegen~ ~llvm~ ptxas",
    ),
    # The host's calls into the device runtime: launches, graph launches, allocations there.
    _rule(
        "runtime",
        r"""
        cuda(?!functor|_?kernel|[a-z_]*synchronize)~ cu_?(?:launch|mem|stream|event|module|ctx|graph)(?![a-z_]*synchronize)~
        hip_?(?:launch|malloc|memcpy|stream|event|module|graph)(?![a-z_]*synchronize)~ ~pjrt~ ~thunk_?execut~ ~launch_?kernel~
        ~kernel_?launch~ ~tfrt~ ~executable~ ~dispatch~ command\sbuffer~
        """,
    ),
    # Blocked or spinning: sleeps, polls, locks, barriers.
    _rule(
        "wait",
        r"""
        ~futex~ ~epoll~ poll ~select_poll~ nanosleep ~sleep~ wait(?:_?for)? wait_?\w* ~mutex~ ~spin_?lock~ ~barrier~ ~rwlock~
        cond_wait~ ~semaphore~ acquire lock join sched_yield synchronize kmp_(?:wait|flag|suspend)~
        """,
    ),
    # Memory taken and given back, page faults.
    _rule(
        "allocation",
        r"""
        ~malloc~ ~calloc~ ~realloc~ free cfree mmap~ munmap~ ~page_fault~ operator\snew~ operator\sdelete~ ~jemalloc~ je_~
        ~tcmalloc~ ~garbage~ gc ~alloc(?:at|_)~ empty ~mem_cgroup~ charge_memcg ~anonymous_page~ pfn_pte madvise~ brk
        """,
    ),
    # The interpreter's own loop and objects.
    _rule(
        "interpreter",
        r"""
        _?py_?eval~ py_?(?:object|list|dict|tuple|unicode|long|float|type|call|number|sequence)~ _?pyobject~ _?pydict~
        ~vectorcall~ v8::~ ~gc_collect~
        """,
    ),
    # Files, sockets, devices.
    _rule(
        "io",
        r"""
        ~sys_(?:p?read|p?write|sendto|recvfrom|fsync|open)~ vfs_~ ext4_~ xfs_~ ~fsync~ ~socket~ tcp_~ p?read(?:v|64)?
        p?write(?:v|64)? fread fwrite readinto blk_~ nvme_~ entry_syscall~ do_syscall~
        """,
    ),
    # One value in, one out, and fusions of such.
    _rule(
        "elementwise",
        r"""
        ~element_?wise~ ~pointwise~ triton_poi~ ~vectorized~ ~fusion~ ~fused~ (?:add|sub|mul|div)(?:_|\d|tract|iply|ide)?
        multiply subtract divide exp(?:onential|m?1)? log tanh ~relu~ ~gelu~ ~silu~ ~swiglu~ ~sigmoid~ ~dropout~ cast
        convert(?:_element_type)? where select(?!ion) compare clamp clip maximum minimum fill_? zeros?_? zero_like
        ones(?:_like)? broadcast(?:_in_dim)? iota pow(?:er)? r?sqrt neg(?:ate)? abs square rope ~rotary~ ~activation~
        threshold(?:_backward)? bernoulli_? normal_ uniform_ rng~ random~ unary_op~ binary_op~ loop
        """,
    ),
)

# Categories that tools attach themselves and that decide alone. Others ("custom-call", "fusion", "kernel") say too little:
# the name goes first.
CATEGORIES = {
    "convolution fusion": "matmul",
    "convolution": "matmul",
    "output fusion": "matmul",
    "convolution base-dilated": "matmul",
    "loop fusion": "elementwise",
    "non-fusion elementwise": "elementwise",
    "input fusion": "reduction",
    "reduce": "reduction",
    "reduce-window": "reduction",
    "data formatting": "layout",
    "copy": "transfer",
    "copy-start": "transfer",
    "copy-done": "transfer",
    "async-copy": "transfer",
    "infeed": "transfer",
    "outfeed": "transfer",
    "host send": "transfer",
    "host recv": "transfer",
    "gpu_memcpy": "transfer",
    "gpu_memset": "transfer",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "idle": "idle",
}
OPAQUE = frozenset(
    {
        "kernel",
        "cpu_op",
        "op",
        "function",
        "python_function",
        "user_annotation",
        "fusion",
        "unknown",
        "other",
        "py-spy",
        "host",
        "device",
        "",
    }
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ARGUMENTS = re.compile(r"<[^<>]*>|\([^()]*\)")
# Wrappers of a framework path that say how an operation came to be, not what it is: `transpose(jvp(f))` is a gradient.
_WRAPPERS = re.compile(
    r"(?:p?jit|jvp|transpose|vmap|remat|checkpoint|shard_map|while|body|cond|scan|closed_call|rematted_computation)(?=[(/])"
)


# A word with the folders in front of it and the line behind it.
_PATH = re.compile(
    r"(?P<root>(?<![^\s:\[(`])(?:[A-Za-z]:|~|\.{1,2})?[/\\])?(?:[^\s;:()<>\[\]{}`,/\\]*(?:\([^()\s]*\))?[/\\])*"
    r"(?P<last>[\w.+$~@-]+)(?P<line>(?::\d+)+|\(\d+\):)?"
)


def _without_path(part: re.Match[str]) -> str:
    """A part of a name without its folders; nothing of a file."""
    ways = any(c in part[0] for c in "/\\")
    is_file = any(end.isalpha() for end in part["last"].partition("+0x")[0].split(".")[1:])
    return "" if is_file and (ways or part["line"]) else part["last"] if ways else part[0]


def symbol(name: str) -> str:
    """What a name says of the operation: where its code lies says nothing of what it does (`/u/loop/parse` is no loop). Empty for a file alone."""
    if name[:1] == "[" and "." in name and " " not in name:
        return ""
    bare, path = _PATH.sub(_without_path, name), _PATH.search(name)
    alone = not any(map(str.isalnum, bare)) and path and not path["root"]
    return name.replace("\\", "/").rpartition("/")[2] if alone else bare


def plain(name: str) -> str:
    """The name in lower case with words of camelCase apart, so that rules see words."""
    return _CAMEL.sub("_", name).lower()


def file_label(path: str) -> str:
    """A source file or library as a category: its package path, or its last two parts, without the machine's own folders."""
    tail = re.split(
        r"(?:site|dist)-packages/|lib/python3?(?:\.\d+)?/", path.strip("<>").replace("\\", "/")
    )[-1]
    parts = [p for p in tail.split("/") if p]
    return "/".join(parts[-2:] if path.startswith(("/", "\\")) or ":" in path[:3] else parts[-3:])


def head(name: str) -> str:
    """The name without template arguments and call arguments, however nested."""
    before = None
    while before != name:
        before, name = name, _ARGUMENTS.sub(" ", name)
    return name


def _by_rules(text: str) -> str | None:
    return next((bucket for bucket, pattern in RULES if pattern.search(text)), None)


@lru_cache(maxsize=65536)
def bucket_of(name: str, category: str = "", detail: str = "", *, is_place: bool = False) -> str:
    """The bucket of an operation: by a deciding category, its name, `detail` (its framework path), or the category itself.

    A category that no rule knows, or that `is_place` (a file, a program), is itself the bucket (`custom-call`, `libfoo.so`, `parser.py`); with
    none, the file that is all of the name, else `other`.
    """
    kind = category.strip().lower()
    if kind in CATEGORIES:
        return CATEGORIES[kind]
    if (
        name[:1] == "(" and name.find(")") == len(name) - 1
    ):  # a reader's own word for what has no name, `(no stack)`
        return "other"
    # Where an operation is written says nothing of what it does: `step (loop/train.py)` is no loop.
    file = name.strip("[]")
    name = symbol(name.removesuffix(f" ({category.strip()})"))
    texts = [head(plain(name)[:2000]), plain(name)[:2000]]
    if detail:
        texts.append(_WRAPPERS.sub(" ", plain(detail)[:2000]))
    for text in texts:
        if bucket := _by_rules(text):
            return bucket
    if kind in OPAQUE:
        return "other" if name else file_label(file).lower()
    # A file or library is no operation: `libcopy.so` copies nothing.
    return kind if is_place or {*kind} & {*"./["} else _by_rules(plain(kind)) or kind

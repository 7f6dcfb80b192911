"""Forty-two heads over two programs of our own, a training script and a decoder in C++, each with the kind that a reader gives it."""

# fmt: off
# ruff: noqa: E501, E702, E731
TRAIN = '''import os
import time
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

from data import make_loader, evaluate_bpb

# Model and run settings
DEPTH = 6
WIDTH = 384
N_HEAD = 6
SEQ_LEN = 1024
DEVICE_BATCH = 32
TOTAL_BATCH = 2**18
LR = 0.02
WEIGHT_DECAY = 0.1
WARMUP = 0.05
COOLDOWN = 0.4
TIME_BUDGET = 300

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
device = torch.device("cuda")


class Attention(nn.Module):
    def __init__(self, width, n_head):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.proj(y)


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return self.down(F.relu(self.up(x)).square())


class Block(nn.Module):
    def __init__(self, width, n_head):
        super().__init__()
        self.attn = Attention(width, n_head)
        self.mlp = MLP(width)

    def forward(self, x):
        x = x + self.attn(F.rms_norm(x, (x.size(-1),)))
        return x + self.mlp(F.rms_norm(x, (x.size(-1),)))


class Model(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embed = nn.Embedding(vocab, WIDTH)
        self.blocks = nn.ModuleList(Block(WIDTH, N_HEAD) for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.embed(idx)
        for block in self.blocks:
            x = block(x)
        logits = self.head(x).float()
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def schedule(progress):
    if progress < WARMUP:
        return progress / WARMUP
    if progress > 1 - COOLDOWN:
        return (1 - progress) / COOLDOWN
    return 1.0


model = torch.compile(Model(8192).to(device))
optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
loader = make_loader(DEVICE_BATCH, SEQ_LEN, "train")
accumulate = TOTAL_BATCH // (DEVICE_BATCH * SEQ_LEN)
start = time.time()
step = 0
while time.time() - start < TIME_BUDGET:
    for group in optimizer.param_groups:
        group["lr"] = LR * schedule((time.time() - start) / TIME_BUDGET)
    for _ in range(accumulate):
        x, y = next(loader)
        loss = model(x.to(device), y.to(device)) / accumulate
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.synchronize()
    print(f"step {step} loss {loss.item() * accumulate:.4f}")
    step += 1
print(f"val_bpb {evaluate_bpb(model):.6f}")
print(f"peak_vram_mb {torch.cuda.max_memory_allocated() / 1e6:.0f}")
'''
DATA='''import torch


def make_loader(batch, length, split):
    tokens = torch.load(f"tokens_{split}.pt")
    while True:
        at = torch.randint(0, len(tokens) - length - 1, (batch,))
        rows = torch.stack([tokens[a : a + length + 1] for a in at])
        yield rows[:, :-1], rows[:, 1:]


def evaluate_bpb(model):
    total = 0.0
    loader = make_loader(16, 1024, "val")
    for _ in range(50):
        x, y = next(loader)
        total += model(x.cuda(), y.cuda()).item()
    return total / 50 / 0.6931
'''
README='''# tinyloop

An agent edits `train.py`, runs it for five minutes and keeps what lowers `val_bpb` (bits per byte on the validation set).
Files: `train.py` is edited, `data.py` is fixed, `program.md` tells the agent what to do.

## Run

    python train.py
'''
PROGRAM='# Program\n\nRead the code. Change train.py. Run. Keep the change if val_bpb is lower. Log it in results.tsv.\n'
CPP='''#include "engine.h"
#include <cmath>
#include <vector>

static const int BLOCK = 32;

void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int p = 0; p < k; p++) {
                sum += a[i * k + p] * b[p * n + j];
            }
            c[i * n + j] = sum;
        }
    }
}

void softmax(float *x, int n) {
    float max = x[0];
    for (int i = 1; i < n; i++) {
        if (x[i] > max) max = x[i];
    }
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - max);
        sum += x[i];
    }
    for (int i = 0; i < n; i++) {
        x[i] /= sum;
    }
}

void rmsnorm(float *out, const float *x, const float *w, int n) {
    float ss = 0.0f;
    for (int i = 0; i < n; i++) ss += x[i] * x[i];
    ss = 1.0f / sqrtf(ss / n + 1e-5f);
    for (int i = 0; i < n; i++) out[i] = w[i] * ss * x[i];
}

void Engine::decode(int token) {
    std::vector<float> hidden(cfg.width);
    embed(token, hidden.data());
    for (int l = 0; l < cfg.layers; l++) {
        rmsnorm(buf.data(), hidden.data(), weights[l].norm.data(), cfg.width);
        matmul(buf.data(), weights[l].w.data(), hidden.data(), 1, cfg.width, cfg.width);
    }
    softmax(logits.data(), cfg.vocab);
}
'''
H='#pragma once\n#include <vector>\nstruct Config { int width, layers, vocab; };\nstruct Layer { std::vector<float> norm, w; };\nstruct Engine { Config cfg; std::vector<Layer> weights; std::vector<float> buf, logits; void embed(int, float *); void decode(int token); };\n'
MAINCPP='#include "engine.h"\n#include <cstdio>\n#include <cstdlib>\nint main(int argc, char **argv) {\n    Engine engine;\n    int n = argc > 1 ? atoi(argv[1]) : 128;\n    for (int i = 0; i < n; i++) engine.decode(i);\n    printf("tokens %d\\n", n);\n}\n'
CREADME='# quickdec\n\nA small decoder. We measure tokens per second (tok/s) and latency of one token; faster is better.\n'
CMAKE='cmake_minimum_required(VERSION 3.20)\nproject(quickdec CXX)\nadd_executable(quickdec src/main.cpp src/engine.cpp)\nset(CMAKE_CXX_FLAGS "-O2")\n'
UP={'py':{'train.py':TRAIN,'data.py':DATA,'README.md':README,'program.md':PROGRAM,'pyproject.toml':'[project]\nname = "tinyloop"\ndependencies = ["torch"]\n'},
    'cpp':{'src/engine.cpp':CPP,'src/engine.h':H,'src/main.cpp':MAINCPP,'README.md':CREADME,'CMakeLists.txt':CMAKE}}
def sub(path,*pairs):
    def edit(files):
        t=files[path]
        for a,b in pairs:
            assert a in t,(path,a); t=t.replace(a,b)
        files[path]=t
    return edit
def new(path,text):
    def edit(files): files[path]=text
    return edit
def append(path,text):
    def edit(files): files[path]=files.get(path,'')+text
    return edit
# name, upstream, kind, [(message, [edits])...]
HEADS = [
 ('mps','py','port',[('Run on Apple laptops',[sub('train.py',('device = torch.device("cuda")','device = torch.device("mps" if torch.backends.mps.is_available() else "cuda")'),('    torch.cuda.synchronize()\n','    if device.type == "cuda":\n        torch.cuda.synchronize()\n'),('model = torch.compile(Model(8192).to(device))','model = Model(8192).to(device)\nif device.type == "cuda":\n    model = torch.compile(model)'),('torch.cuda.max_memory_allocated()','(torch.cuda.max_memory_allocated() if device.type == "cuda" else 0)')),sub('data.py',('x.cuda(), y.cuda()','x.to(model.device), y.to(model.device)'))])]),
 ('pytest','py','tooling',[('test the loader and the schedule',[new('tests/test_data.py','import torch\nfrom data import make_loader\n\n\ndef test_shapes(tmp_path, monkeypatch):\n    monkeypatch.chdir(tmp_path)\n    torch.save(torch.arange(5000), "tokens_train.pt")\n    x, y = next(make_loader(4, 16, "train"))\n    assert x.shape == (4, 16)\n    assert torch.equal(x[:, 1:], y[:, :-1])\n'),new('.github/workflows/ci.yml','on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: pip install torch pytest && pytest\n')])]),
 ('typo','py','docs',[('fix a typo',[sub('README.md',('An agent edits','A coding agent edits'),('five minutes','5 minutes'))])]),
 ('results','py','log',[('overnight run',[new('results.tsv','commit\tval_bpb\tmemory\tstatus\tdescription\na1b2c3d\t1.0312\t18.2\tkeep\tbaseline\nb2c3d4e\t1.0207\t18.2\tkeep\tdepth 8\nc3d4e5f\t1.0411\t20.1\tdiscard\twider mlp\n'+''.join(f'{i:07x}\t{1.02+i/1000:.4f}\t18.{i}\tdiscard\ttry {i}\n' for i in range(1,25))),sub('train.py',('DEPTH = 6','DEPTH = 8'))])]),
 ('swiglu','py','quality',[('gated mlp',[sub('train.py',('        self.up = nn.Linear(width, 4 * width, bias=False)\n        self.down = nn.Linear(4 * width, width, bias=False)','        hidden = int(8 * width / 3)\n        self.up = nn.Linear(width, hidden, bias=False)\n        self.gate = nn.Linear(width, hidden, bias=False)\n        self.down = nn.Linear(hidden, width, bias=False)'),('return self.down(F.relu(self.up(x)).square())','return self.down(F.silu(self.gate(x)) * self.up(x))'))])]),
 ('batch24','py','quality',[('fits my card, more steps',[sub('train.py',('TOTAL_BATCH = 2**18','TOTAL_BATCH = 2**16'),('DEVICE_BATCH = 32','DEVICE_BATCH = 8'))])]),
 ('fusedadam','py','performance',[('use the fused optimizer and skip the sync every step',[sub('train.py',('weight_decay=WEIGHT_DECAY)','weight_decay=WEIGHT_DECAY, fused=True)'),('    torch.cuda.synchronize()\n    print','    if step % 50 == 0:\n        print'),('optimizer.zero_grad()','optimizer.zero_grad(set_to_none=True)'))])]),
 ('bf16','py','performance',[('autocast',[sub('train.py',('        loss = model(x.to(device), y.to(device)) / accumulate\n','        with torch.autocast("cuda", dtype=torch.bfloat16):\n            loss = model(x.to(device, non_blocking=True), y.to(device, non_blocking=True)) / accumulate\n'),('logits = self.head(x).float()','logits = self.head(x)')),sub('data.py',('yield rows[:, :-1], rows[:, 1:]','rows = rows.pin_memory()\n        yield rows[:, :-1], rows[:, 1:]'))])]),
 ('mainfn','py','refactor',[('wrap in main',[sub('train.py',('model = torch.compile(Model(8192).to(device))\noptimizer','def build():\n    return torch.compile(Model(8192).to(device))\n\n\nmodel = build()\noptimizer'),('class Attention(nn.Module):\n    def __init__(self, width, n_head):','class Attention(nn.Module):\n    def __init__(self, width: int, n_head: int) -> None:'),('    def __init__(self, width):\n','    def __init__(self, width: int) -> None:\n'),('def schedule(progress):','def schedule(progress: float) -> float:'))])]),
 ('nanguard','py','other',[('stop when the loss is not finite',[sub('train.py',('    optimizer.step()\n','    if not math.isfinite(loss.item()):\n        raise SystemExit("loss is not finite")\n    optimizer.step()\n')),sub('data.py',('torch.load(f"tokens_{split}.pt")','torch.load(f"tokens_{split}.pt", weights_only=True)'))])]),
 ('plot','py','tooling',[('script to plot the runs',[new('plot.py','import csv\nimport matplotlib.pyplot as plt\n\nrows = list(csv.DictReader(open("results.tsv"), delimiter="\\t"))\nplt.plot([float(r["val_bpb"]) for r in rows])\nplt.savefig("progress.png")\n')])]),
 ('wandb','py','tooling',[('log to wandb',[sub('train.py',('import math\n','import math\nimport wandb\n'),('start = time.time()\nstep = 0','wandb.init(project="tinyloop")\nstart = time.time()\nstep = 0'),('    step += 1\n','    wandb.log({"loss": loss.item() * accumulate, "step": step})\n    step += 1\n')),sub('pyproject.toml',('["torch"]','["torch", "wandb"]'))])]),
 ('docker','py','tooling',[('container',[new('Dockerfile','FROM nvidia/cuda:12.4.0-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nCOPY . /app\nWORKDIR /app\nRUN pip install torch\nCMD ["python3", "train.py"]\n'),new('docker-compose.yml','services:\n  train:\n    build: .\n    runtime: nvidia\n')])]),
 ('strategies','py','docs',[('say how to search',[append('program.md','\n## How to search\n\n- Change one thing at a time.\n- Try the learning rate before the depth.\n- If three attempts fail, read the last ten rows of the log.\n')])]),
 ('zh','py','docs',[('Chinese readme',[new('README.zh.md','# tinyloop\n\n代理修改 train.py，运行五分钟，保留降低 val_bpb 的修改。\n\n## 运行\n\n    python train.py\n')])]),
 ('ckpt','py','performance',[('train a deeper net in less memory',[sub('train.py',('import torch.nn.functional as F\n','import torch.nn.functional as F\nfrom torch.utils.checkpoint import checkpoint\n'),('            x = block(x)','            x = checkpoint(block, x, use_reentrant=False)'))])]),
 ('win','py','port',[('windows',[sub('train.py',('os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"','import sys\nif sys.platform != "win32":\n    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"'),('model = torch.compile(Model(8192).to(device))','model = Model(8192).to(device)\nif sys.platform != "win32":\n    model = torch.compile(model)')),append('README.md','\n## Windows\n\nRun `py train.py` in PowerShell.\n')])]),
 ('loop24','py','quality',[('exp: lr 0.03',[sub('train.py',('LR = 0.02','LR = 0.03'))]),('exp: warmup 0',[sub('train.py',('WARMUP = 0.05','WARMUP = 0.01'))]),('exp: qk norm',[sub('train.py',('        y = F.scaled_dot_product_attention(q','        q, k = F.rms_norm(q, (q.size(-1),)), F.rms_norm(k, (k.size(-1),))\n        y = F.scaled_dot_product_attention(q'))]),('log',[new('results.tsv','commit\tval_bpb\nx\t1.01\n')])]),
 ('avx','cpp','performance',[('avx2 inner loop',[sub('src/engine.cpp',('#include <cmath>','#include <cmath>\n#include <immintrin.h>'),('            float sum = 0.0f;\n            for (int p = 0; p < k; p++) {\n                sum += a[i * k + p] * b[p * n + j];\n            }\n            c[i * n + j] = sum;','            __m256 acc = _mm256_setzero_ps();\n            for (int p = 0; p + 8 <= k; p += 8) {\n                acc = _mm256_fmadd_ps(_mm256_loadu_ps(a + i * k + p), _mm256_loadu_ps(b + j * k + p), acc);\n            }\n            c[i * n + j] = hsum(acc);')),sub('CMakeLists.txt',('-O2','-O3 -mavx2 -mfma'))])]),
 ('onepass','cpp','performance',[('softmax in one go',[sub('src/engine.cpp',('    float max = x[0];\n    for (int i = 1; i < n; i++) {\n        if (x[i] > max) max = x[i];\n    }\n    float sum = 0.0f;\n    for (int i = 0; i < n; i++) {\n        x[i] = expf(x[i] - max);\n        sum += x[i];\n    }','    float max = x[0], sum = 0.0f;\n    for (int i = 0; i < n; i++) {\n        if (x[i] > max) { sum *= expf(max - x[i]); max = x[i]; }\n        sum += expf(x[i] - max);\n    }'),('        x[i] /= sum;','        x[i] = expf(x[i] - max) / sum;'))])]),
 ('metal','cpp','port',[('a second backend',[new('src/engine_metal.mm','#import <Metal/Metal.h>\n#include "engine.h"\nvoid matmul_metal(const float *a, const float *b, float *c, int m, int n, int k) {\n    id<MTLDevice> device = MTLCreateSystemDefaultDevice();\n    id<MTLCommandQueue> queue = [device newCommandQueue];\n'+'    // encode\n'*3+'    [queue commandBuffer];\n}\n'),new('src/kernels.metal','#include <metal_stdlib>\nkernel void matmul(device const float *a [[buffer(0)]], device float *c [[buffer(1)]], uint id [[thread_position_in_grid]]) {\n    c[id] = a[id];\n}\n'),sub('CMakeLists.txt',('project(quickdec CXX)','project(quickdec CXX)\nif(APPLE)\n  enable_language(OBJCXX)\nendif()'))])]),
 ('split','cpp','refactor',[('move the kernels',[lambda f:(f.__setitem__('src/kernels.cpp','#include "engine.h"\n#include <cmath>\n'+CPP[CPP.index('void matmul'):CPP.index('void Engine::decode')]),f.__setitem__('src/engine.cpp',CPP[:CPP.index('void matmul')]+CPP[CPP.index('void Engine::decode'):])),sub('CMakeLists.txt',('src/engine.cpp','src/engine.cpp src/kernels.cpp'))])]),
 ('bounds','cpp','other',[('do not read past the end',[sub('src/engine.cpp',('    std::vector<float> hidden(cfg.width);\n','    if (token < 0 || token >= cfg.vocab) {\n        throw std::out_of_range("token");\n    }\n    std::vector<float> hidden(cfg.width);\n')),sub('src/main.cpp',('atoi(argv[1])','std::max(1, atoi(argv[1]))'))])]),
 ('flags','cpp','performance',[('native build',[sub('CMakeLists.txt',('"-O2"','"-O3 -march=native -ffast-math -flto"'))])]),
 ('bench','cpp','tooling',[('bench script',[new('bench/run.sh','#!/bin/sh\nfor n in 64 128 256; do /usr/bin/time -f %e ./quickdec $n; done\n'),sub('src/main.cpp',('    printf("tokens %d\\n", n);','    printf("tokens %d\\n", n);\n    fprintf(stderr, "tok/s %.1f\\n", n / seconds());'))])]),
 ('prealloc','cpp','performance',[('no vector per token',[sub('src/engine.cpp',('    std::vector<float> hidden(cfg.width);\n','    static thread_local std::vector<float> hidden;\n    hidden.resize(cfg.width);\n'))])]),
 ('rope','py','quality',[('rotary positions',[sub('train.py',('        y = F.scaled_dot_product_attention(q','        cos, sin = rotary(T, C // self.n_head)\n        q, k = rotate(q, cos, sin), rotate(k, cos, sin)\n        y = F.scaled_dot_product_attention(q'))])]),
 ('gqa','py','quality',[('two kv heads',[sub('train.py',('N_HEAD = 6','N_HEAD = 6\nN_KV_HEAD = 2'),('self.qkv = nn.Linear(width, 3 * width, bias=False)','self.qkv = nn.Linear(width, width + 2 * N_KV_HEAD * (width // n_head), bias=False)'))])]),
 ('cpu','py','port',[('no gpu needed',[sub('train.py',('device = torch.device("cuda")','device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'),('    torch.cuda.synchronize()','    if torch.cuda.is_available():\n        torch.cuda.synchronize()'))])]),
 ('seed','py','tooling',[('seed from the command line',[sub('train.py',('import math\n','import argparse\nimport math\n'),('device = torch.device("cuda")','parser = argparse.ArgumentParser()\nparser.add_argument("--seed", type=int, default=0)\nargs = parser.parse_args()\ntorch.manual_seed(args.seed)\ndevice = torch.device("cuda")'))])]),
 ('loaderfix','py','other',[('last token was never drawn',[sub('data.py',('len(tokens) - length - 1','len(tokens) - length'))])]),
 ('prefetch','py','performance',[('load the next batch while this one runs',[sub('train.py',('loader = make_loader(DEVICE_BATCH, SEQ_LEN, "train")','loader = prefetched(make_loader(DEVICE_BATCH, SEQ_LEN, "train"), torch.cuda.Stream())')),sub('data.py',('import torch\n','import queue\nimport threading\n\nimport torch\n\n\ndef prefetched(loader, stream):\n    ready = queue.Queue(maxsize=2)\n    threading.Thread(target=lambda: [ready.put(b) for b in loader], daemon=True).start()\n    while True:\n        yield ready.get()\n\n'))])]),
 ('faq','py','docs',[('answers to what people ask',[new('docs/faq.md','# Questions\n\n## Does it need a GPU?\n\nYes. Memory of 24 GB is enough, throughput differs.\n\n## Can I use a larger batch?\n\nIf it fits.\n')])]),
 ('journal','py','log',[('my week',[new('experiments/journal.md','# Journal\n\n- 03-01: LR 0.03, val_bpb 1.021, keep\n- 03-02: depth 8, val_bpb 1.013, keep\n'),new('runs/run_0301.log','\n'.join(f'step {i} loss {5-i/100:.3f}' for i in range(80)))])]),
 ('agents','py','tooling',[('skills',[new('.claude/skills/loop/SKILL.md','---\nname: loop\n---\nRun train.py, read val_bpb, keep or revert.\n'),new('.claude/settings.json','{"permissions": {"allow": ["Bash(python train.py)"]}}\n')])]),
 ('deadcode','py','refactor',[('tidy',[sub('train.py',('# Model and run settings\n',''),('import math\n',''),('y = y.transpose(1, 2).contiguous().view(B, T, C)\n        return self.proj(y)','return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))'))])]),
 ('threads','cpp','performance',[('rows in parallel',[sub('src/engine.cpp',('    for (int i = 0; i < m; i++) {\n        for (int j = 0; j < n; j++) {\n            float sum','    #pragma omp parallel for\n    for (int i = 0; i < m; i++) {\n        for (int j = 0; j < n; j++) {\n            float sum')),sub('CMakeLists.txt',('set(CMAKE_CXX_FLAGS "-O2")','find_package(OpenMP REQUIRED)\nset(CMAKE_CXX_FLAGS "-O2 -fopenmp")'))])]),
 ('blocked','cpp','performance',[('walk in blocks',[sub('src/engine.cpp',('        for (int j = 0; j < n; j++) {\n            float sum = 0.0f;','        for (int jj = 0; jj < n; jj += BLOCK)\n        for (int j = jj; j < jj + BLOCK && j < n; j++) {\n            float sum = 0.0f;'))])]),
 ('cuda','cpp','port',[('cuda backend',[new('src/engine.cu','#include "engine.h"\n__global__ void matmul_kernel(const float *a, const float *b, float *c, int m, int n, int k) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < m * n) {\n        float sum = 0;\n        for (int p = 0; p < k; p++) sum += a[(i / n) * k + p] * b[p * n + i % n];\n        c[i] = sum;\n    }\n}\nvoid matmul_cuda(const float *a, const float *b, float *c, int m, int n, int k) {\n    matmul_kernel<<<(m * n + 255) / 256, 256>>>(a, b, c, m, n, k);\n    cudaDeviceSynchronize();\n}\n'),sub('CMakeLists.txt',('project(quickdec CXX)','project(quickdec CXX CUDA)'),('src/engine.cpp)','src/engine.cpp src/engine.cu)'))])]),
 ('utests','cpp','tooling',[('tests',[new('tests/test_softmax.cpp','#include "../src/engine.h"\n#include <cassert>\nvoid softmax(float *x, int n);\nint main() { float x[2] = {0, 0}; softmax(x, 2); assert(x[0] == 0.5f); }\n'),sub('CMakeLists.txt',('set(CMAKE','enable_testing()\nadd_executable(test_softmax tests/test_softmax.cpp src/engine.cpp)\nadd_test(NAME softmax COMMAND test_softmax)\nset(CMAKE'))])]),
 ('rename','cpp','refactor',[('clearer names',[sub('src/engine.cpp',(' ss ',' sumsq '),('sqrtf(ss','sqrtf(sumsq'))])]),
 ('kvcache','cpp','performance',[('keep keys and values of earlier tokens',[sub('src/engine.cpp',('    for (int l = 0; l < cfg.layers; l++) {','    for (int l = 0; l < cfg.layers; l++) {\n        kv_cache[l].push_back(hidden);'))])]),
]

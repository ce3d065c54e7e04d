# An image for machines with NVIDIA GPUs. JAX brings CUDA with it; the host needs the driver and the
# NVIDIA container toolkit:
#
#     docker build -t recall .
#     docker run --gpus all -v "$PWD/runs:/data/runs" recall train --sequence cw3-1 --out runs/first
#
# --build-arg EXTRAS= builds an image for CPUs, --build-arg EXTRAS=ray one with Ray.
FROM python:3.12-slim

ARG EXTRAS=cuda,ray

# For pictures and films of the robots.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libegl1 libosmesa6 ffmpeg \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY pyproject.toml constraints.txt PYPI.md LICENSE ./
COPY recall recall
RUN pip install --no-cache-dir -c constraints.txt ".${EXTRAS:+[$EXTRAS]}"

WORKDIR /data
ENTRYPOINT ["recall"]
CMD ["--help"]

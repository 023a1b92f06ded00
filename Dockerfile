# One file, a target for each of the two programs:
#   docker build --target function -t function-edgetenants .
#   docker build --target provider -t provider-edgetenants .
# With the SDKs for records in Azure DNS and in Cloudflare:
#   docker build --target provider --build-arg PROVIDER_LOCK=provider-dns -t provider-edgetenants .
# Crossplane runs both as uid and gid 2000 with a read-only root file system.

ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /src
RUN python -m venv /venv
COPY requirements/ requirements/
COPY pyproject.toml README.md LICENSE ./
COPY runtime/ runtime/
COPY apis/ apis/
COPY function/ function/
COPY provider/ provider/
COPY sandbox/__init__.py sandbox/__init__.py
COPY cli/__init__.py cli/__init__.py

FROM build AS build-function
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/function.lock \
 && /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation ./runtime .

FROM build AS build-provider
ARG PROVIDER_LOCK=provider
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/${PROVIDER_LOCK}.lock \
 && /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation ./runtime .

# The same base image as the build stage: a venv is bound to its interpreter's path and ABI.
FROM python:${PYTHON}-slim AS function
COPY --from=build-function /venv /venv
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 EDGETENANTS_FUNCTION_METRICS_ADDRESS=0.0.0.0:8080
USER 2000:2000
EXPOSE 9443 8080
ENTRYPOINT ["/venv/bin/edgetenants-function"]

FROM python:${PYTHON}-slim AS provider
COPY --from=build-provider /venv /venv
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 2000:2000
EXPOSE 8080 8081
ENTRYPOINT ["/venv/bin/edgetenants-provider"]

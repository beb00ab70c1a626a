# syntax=docker/dockerfile:1

# Compiles the broker. Only dist/ of this stage gets into the image. JavaScript is the same on every platform, so this and
# the next stage run on the builder's own.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

# Production packages only, and their bill of materials (CycloneDX). Of the optional ones, those of OpenTelemetry: the
# others are the sandbox's. Without the packages' source maps, 13 MB.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
# without what is not installed: `npm sbom --omit` also omits packages that a development package needs too
RUN npm pkg delete devDependencies optionalDependencies.otpauth optionalDependencies.qrcode workspaces \
  && npm prune --ignore-scripts && npm sbom --sbom-format cyclonedx > sbom.cdx.json \
  && find node_modules -name '*.map' -delete

FROM node:24-bookworm-slim
# The release adds version, revision, the time and the base image with its digest.
LABEL org.opencontainers.image.title="Gatehouse" \
  org.opencontainers.image.description="A sign-in broker (backend for frontend) for Okta's classic Authentication API, not affiliated with Okta" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.source="https://git.example.com/portal/gatehouse" \
  org.opencontainers.image.documentation="https://git.example.com/portal/gatehouse/blob/main/docs/operations.md"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=packages /app/sbom.cdx.json ./
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY config/default.json ./config/default.json
COPY docs/openapi.json ./docs/openapi.json
# docker build --build-arg GIT_REVISION=$(git rev-parse HEAD) .
ARG GIT_REVISION=unknown
ENV GIT_REVISION=$GIT_REVISION
# The image's user "node", as a number: Kubernetes can verify only a number as not root.
USER 1000:1000
EXPOSE 8080
# /livez on the ops listener, inside the container, wherever OPS_HOST puts it (on all addresses: on the loopback one);
# 200 or the container is not alive. In bash, because a process of Node takes 60 MB.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["bash", "-c", "case ${OPS_HOST:-0.0.0.0} in 0.0.0.0) h=127.0.0.1;; ::) h=::1;; *) h=$OPS_HOST;; esac; exec 3<>/dev/tcp/$h/${OPS_PORT:-9090} && printf 'GET /livez HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
STOPSIGNAL SIGTERM
# With a memory limit, V8 makes its young generation as small as 1 MB and collects it all the time: every request took
# twice the CPU. More than 16 MB brings nothing (docs/performance.md).
# One V8 worker, because a replica uses one core: four that mark the heap at the same time left a request a fifth of it.
# --disable-sigusr1: a process that can send signals must not be able to open an inspector.
CMD ["node", "--disable-sigusr1", "--enable-source-maps", "--max-semi-space-size=16", "--v8-pool-size=1", "dist/main.js"]

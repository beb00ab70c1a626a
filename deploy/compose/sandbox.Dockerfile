# syntax=docker/dockerfile:1

# The sandbox, for compose.yaml only. It has its own image and .dockerignore, so that the build context of the broker's
# image does not contain the sandbox.
FROM node:24-bookworm-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json tsconfig.all.json ./
COPY src/sandbox ./src/sandbox
COPY config/sandbox.json ./config/sandbox.json
RUN npx tsc -p tsconfig.all.json
ENV SANDBOX_HOST=0.0.0.0
USER 1000:1000
EXPOSE 8081 8082
CMD ["node", "build/sandbox/main.js"]

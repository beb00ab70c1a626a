# syntax=docker/dockerfile:1

# The sandbox, also with a broker (docs/sandbox.md#image). Its own .dockerignore keeps the sandbox out of the build
# context of the broker's image.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY sandbox/tsconfig.json ./sandbox/
COPY sandbox/src ./sandbox/src
RUN npm run prepack

FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/sandbox/dist ./sandbox/dist
COPY package.json LICENSE ./
COPY config/default.json ./config/
COPY sandbox/sandbox.json ./sandbox/
COPY docs/openapi.json ./docs/openapi.json
ENV SANDBOX_HOST=0.0.0.0
USER 1000:1000
EXPOSE 8080 8081 8082
ENTRYPOINT ["node", "sandbox/dist/package/main.js"]

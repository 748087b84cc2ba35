# The service as one static binary; the console is inside it. ClickHouse runs beside it, see docker-compose.yml.
FROM node:20-bookworm AS web
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY server/api/openapi.yaml /src/server/api/openapi.yaml
COPY web ./
RUN npm run build

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=web /src/web/dist web/dist
ARG VERSION=container
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/rocelens ./cmd/rocelens \
 && mkdir -p /out/data /out/tmp && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/rocelens /rocelens
COPY --from=build --chown=65534:65534 /out/data /data
COPY --from=build --chown=65534:65534 /out/tmp /tmp
USER 65534:65534
ENV ROCELENS_DATA=/data ROCELENS_LISTEN=0.0.0.0:8790
EXPOSE 8790
VOLUME /data
HEALTHCHECK --interval=30s --timeout=15s --start-period=2m CMD ["/rocelens", "health"]
ENTRYPOINT ["/rocelens"]
CMD ["serve"]

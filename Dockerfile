# The broker's image: one static binary on nothing, as a user without rights.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /fairlead ./cmd/fairlead \
 && mkdir -p /empty/data && chown 65532:65532 /empty/data

FROM scratch
COPY --from=build /fairlead /fairlead
COPY --from=build --chown=65532:65532 /empty/data /data
USER 65532:65532
# Data of one broker; its settings file names a directory in it.
VOLUME /data
# Clients, brokers among themselves, metrics and health.
EXPOSE 9092 9093 9094
ENTRYPOINT ["/fairlead"]
CMD ["broker", "--config", "/etc/fairlead/broker.properties"]

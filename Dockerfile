# The image of brokers and operator: static binaries on nothing, as a user without rights. `make image` makes the same without
# a container engine and reads the settings of the last stage here (hack/image).
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN mkdir -p /image /empty/data && mkdir -m 1777 /image/tmp \
 && for main in cmd/*/main.go; do CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /image/ "./${main%/main.go}" || exit; done

FROM scratch
COPY --from=build /image/ /
COPY --from=build --chown=65532:65532 /empty/data /data
USER 65532:65532
# Data of one broker; its settings file names a directory in it.
VOLUME /data
# Clients, brokers among themselves, metrics and health.
EXPOSE 9092 9093 9094
ENTRYPOINT ["/fairlead"]
CMD ["broker", "--config", "/etc/fairlead/broker.properties"]

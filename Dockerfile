# Build: docker build --build-arg VERSION=v1.2.3 -t dynawire .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /webhook ./cmd/webhook

FROM gcr.io/distroless/static:nonroot
COPY --from=build /webhook /webhook
USER 65532:65532
ENTRYPOINT ["/webhook"]

package grpcresolver_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/grpcresolver"
	"github.com/dynawire/dynawire/pkg/runtime/memory"
)

// A client calls a component by name. In a pod the discovery comes from kube.New; here both ends are in one process.
func Example() {
	ctx := context.Background()
	world := memory.NewWorld()

	// A worker serves gRPC and registers where.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	worker, err := world.Start(runtime.Identity{PodName: "worker-0", PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
	if err != nil {
		panic(err)
	}
	self, err := worker.CreateInstance(ctx, runtime.Registration{
		Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP(l.Addr().String())}},
	})
	if err != nil {
		panic(err)
	}
	if err := worker.SetStatus(ctx, self, runtime.StatusReady); err != nil {
		panic(err)
	}

	// A client dials the component.
	d, err := world.Start(runtime.Identity{PodName: "router-0", PodNamespace: "llm"})
	if err != nil {
		panic(err)
	}
	defer func() { _ = d.Close() }()
	conn, err := grpc.NewClient("dynamo:///dynamo/backend",
		grpc.WithResolvers(grpcresolver.New(d, grpcresolver.Config{})),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.GetStatus())
	// Output: SERVING
}

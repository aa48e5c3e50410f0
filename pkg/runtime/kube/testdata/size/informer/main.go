// Informer is hello with client-go's usual means for the same purpose: a clientset, shared informers of EndpointSlices,
// and dynamic ones of DynamoWorkerMetadata.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	show := cache.ResourceEventHandlerFuncs{AddFunc: func(o any) { fmt.Println(o) }}
	slices := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	_, _ = slices.Discovery().V1().EndpointSlices().Informer().AddEventHandler(show)
	objects := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	kind := schema.GroupVersionResource{Group: "nvidia.com", Version: "v1alpha1", Resource: "dynamoworkermetadatas"}
	_, _ = objects.ForResource(kind).Informer().AddEventHandler(show)
	slices.StartWithContext(ctx)
	objects.Start(ctx.Done())
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":8080", http.NotFoundHandler()))
}

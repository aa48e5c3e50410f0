// Package wiring is the contract between plain pod specs and NVIDIA Dynamo's Kubernetes discovery: the names of labels,
// annotations, variables and objects, and the small pure functions that derive one from another.
package wiring

// Labels. Dynamo's operator writes the same keys (ai-dynamo/dynamo deploy/operator/internal/consts/consts.go).
const (
	// LabelDiscoveryEnabled opts a Namespace in, a pod out ("false"), and is the one label by which Dynamo's runtime
	// selects EndpointSlices (they inherit it from their Service).
	LabelDiscoveryEnabled = "nvidia.com/dynamo-discovery-enabled"
	// LabelDiscoveryBackend is always BackendKubernetes on what dynawire wires.
	LabelDiscoveryBackend = "nvidia.com/dynamo-discovery-backend"
	// LabelNamespace is the Dynamo namespace, without a worker suffix.
	LabelNamespace = "nvidia.com/dynamo-namespace"
	// LabelComponent is the component as the process registers it.
	LabelComponent = "nvidia.com/dynamo-component"
	// LabelComponentType is the role: worker, prefill, decode, frontend, router, planner, default.
	LabelComponentType = "nvidia.com/dynamo-component-type"
	// LabelGraphDeployment and LabelOperatorSelector mark pods of the Dynamo operator, which dynawire never touches.
	LabelGraphDeployment  = "nvidia.com/dynamo-graph-deployment-name"
	LabelOperatorSelector = "nvidia.com/selector"
	// LabelManagedBy marks the objects that dynawire's reconcilers own, with the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "dynawire"
)

// Annotations.
const (
	// AnnotationPrefix is that of all annotations of our own.
	AnnotationPrefix = "dynawire.io/"
	// AnnotationDynamoNamespace, on a Namespace, is the default Dynamo namespace of its pods.
	AnnotationDynamoNamespace = "nvidia.com/dynamo-namespace"
	// AnnotationValidation, on a Namespace: enforce (default), warn or audit.
	AnnotationValidation = "dynawire.io/validation"
	// AnnotationRules, on a Namespace: RULE=ACTION, with commas, in place of what the mode says. See Settings.Rules.
	AnnotationRules = "dynawire.io/validation-rules"
	// AnnotationFrontendScope, on a pod or a Namespace: exact (default), prefix or all.
	AnnotationFrontendScope = "dynawire.io/frontend-scope"
	// AnnotationEndpoint, on a pod whose command is not a Dynamo module: the endpoint that it serves.
	AnnotationEndpoint = "dynawire.io/endpoint"
	// AnnotationKeyValue, on a Namespace: "true" binds the Role that the library's key-value store needs.
	AnnotationKeyValue = "dynawire.io/key-value"
	// AnnotationServiceAccount is stamped on a wired pod that keeps an account other than ServiceAccount, so that the
	// reconciler can bind that account while it watches nothing but metadata.
	AnnotationServiceAccount = "dynawire.io/service-account"
	// AnnotationNamespaceAssumed is stamped on a wired pod whose Dynamo namespace nobody declared though an envFrom may hold
	// it: the container that has the envFrom. Once the pod has its label and the variable, nothing else tells.
	AnnotationNamespaceAssumed = "dynawire.io/namespace-assumed"
)

// Environment variables that Dynamo's runtime reads (ai-dynamo/dynamo lib/runtime/src/config/environment_names.rs).
const (
	EnvPodName              = "POD_NAME"
	EnvPodNamespace         = "POD_NAMESPACE"
	EnvPodUID               = "POD_UID"
	EnvContainerName        = "CONTAINER_NAME"
	EnvDiscoveryBackend     = "DYN_DISCOVERY_BACKEND"
	EnvKubeDiscoveryMode    = "DYN_KUBE_DISCOVERY_MODE"
	EnvNamespace            = "DYN_NAMESPACE"
	EnvNamespacePrefix      = "DYN_NAMESPACE_PREFIX"
	EnvWorkerSuffix         = "DYN_NAMESPACE_WORKER_SUFFIX"
	EnvComponent            = "DYN_COMPONENT"
	EnvEndpoint             = "DYN_ENDPOINT"
	EnvSystemPort           = "DYN_SYSTEM_PORT"
	EnvEndpointHealthStatus = "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"
	EnvHTTPPort             = "DYN_HTTP_PORT"
)

// Values and names of the contract.
const (
	BackendKubernetes = "kubernetes"
	// ContainerMode is the value of EnvKubeDiscoveryMode where each container of a pod is an instance of its own.
	ContainerMode = "container"
	// MainContainer is the one whose instance keeps the pod's name in container mode. Releases 1.3 to 1.6 read no other name,
	// neither from the environment nor from an annotation.
	MainContainer = "main"
	// DefaultNamespace is the Dynamo namespace of a process that is told nothing.
	DefaultNamespace = "dynamo"
	// DefaultEndpoint is the endpoint of every worker module of Dynamo.
	DefaultEndpoint = "generate"
	// SystemPort is where a worker serves /health and /live: the operator's value. Off in Dynamo unless it is set.
	SystemPort     = 9090
	SystemPortName = "system"
	// HTTPPort is the frontend's own default (dynamo.frontend --http-port).
	HTTPPort     = 8000
	HTTPPortName = "http"
	// HealthPath answers 200 once the process can serve, 503 before.
	HealthPath = "/health"
	LivePath   = "/live"
	// ServiceAccount is the account, Role and RoleBinding of every opted-in Namespace.
	ServiceAccount = "dynamo-discovery"
	// KeyValueRole is the Role and RoleBinding for the library's key-value store.
	KeyValueRole = "dynamo-discovery-kv"
)

// Component types as the label says them.
const (
	TypeWorker   = "worker"
	TypePrefill  = "prefill"
	TypeDecode   = "decode"
	TypeFrontend = "frontend"
	TypeRouter   = "router"
	TypePlanner  = "planner"
	TypeDefault  = "default"
)

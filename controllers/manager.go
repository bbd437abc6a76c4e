package controllers

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/apply"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/observe"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// LeaseName is the Lease of the operator that works while others stand by.
const LeaseName = "fairlead-operator"

const (
	// reconcileTimeout bounds one pass over one object, so that an answer that never comes holds up that object alone.
	reconcileTimeout = 2 * time.Minute
	// stopTimeout bounds the wait for passes that are under way when the operator is told to stop. Less than a pod's default grace.
	stopTimeout = 20 * time.Second
	// concurrency is how many Clusters are worked on at a time: those whose brokers do not answer must not hold up the others.
	concurrency = 16
)

// Options of the operator.
type Options struct {
	// Namespace whose objects are looked after; empty: all namespaces. With a namespace the operator needs rights in that one only.
	Namespace string
	// OwnNamespace is the namespace of the operator's pod; empty: it runs elsewhere.
	OwnNamespace string
	// NoNodesAndStorage: nodes and storage classes, which belong to no namespace, are not asked for; conditions say what is then not known.
	NoNodesAndStorage bool
	// Image of brokers whose Cluster names none.
	Image string
	// LeaderElect lets several operators run, of which one works. LeaderElectionNamespace has the Lease; empty: the operator's own.
	LeaderElect             bool
	LeaderElectionNamespace string
	// Addresses to serve at; "0" or empty: not served.
	MetricsAddress, ProbeAddress string
	Log                          logr.Logger
	// Brokers is how brokers are reached; nil: over the network.
	Brokers *Brokers

	wait func(time.Duration) time.Duration // for tests, which cannot wait for half a minute
}

// NewScheme knows the kinds that the operator reads and writes.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// NewManager is the whole operator, not yet started.
func NewManager(cfg *rest.Config, o Options) (manager.Manager, error) {
	stop := stopTimeout
	m, err := manager.New(cfg, manager.Options{
		Scheme: NewScheme(),
		Logger: o.Log,
		Cache:  cacheOptions(o.Namespace),

		LeaderElection:          o.LeaderElect,
		LeaderElectionID:        LeaseName,
		LeaderElectionNamespace: o.LeaderElectionNamespace,
		// The program ends when the manager does, so the next operator need not wait for the lease to run out.
		LeaderElectionReleaseOnCancel: true,

		Metrics:                 metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:  o.ProbeAddress,
		GracefulShutdownTimeout: &stop,
		Controller: config.Controller{
			MaxConcurrentReconciles: concurrency,
			ReconciliationTimeout:   reconcileTimeout,
			SkipNameValidation:      new(true), // several operators may be in one process, one after the other
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := m.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if o.Brokers == nil {
		if o.Brokers, err = overNetwork(m); err != nil {
			return nil, err
		}
	}
	if err := addClusters(m, o); err != nil {
		return nil, fmt.Errorf("add the controller of clusters: %w", err)
	}
	if o.Brokers.Topics != nil {
		if err := addTopics(m, o); err != nil {
			return nil, fmt.Errorf("add the controller of topics: %w", err)
		}
	}
	if o.OwnNamespace != "" && (o.Namespace == "" || o.Namespace == o.OwnNamespace) {
		last := farewell{namespace: o.OwnNamespace, live: m.GetAPIReader(), write: m.GetClient(), log: m.GetLogger()}
		if err := m.Add(untilStopped(last.say)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// addClusters adds the controller of Clusters to the manager.
func addClusters(m manager.Manager, o Options) error {
	memory, wait := newMemory(time.Now), spread
	if o.wait != nil {
		wait = o.wait
	}
	if err := m.Add(whileWorking(memory)); err != nil {
		return err
	}
	return watchClusters(m, &clusterReconciler{
		live:   m.GetAPIReader(),
		status: m.GetClient(),
		observer: &observe.Observer{
			Cached: m.GetClient(), Live: m.GetAPIReader(),
			Admin: o.Brokers.Admin, Endpoint: o.Brokers.Endpoint,
			Kafka:    func(c *v1alpha1.Cluster) (observe.Kafka, error) { return o.Brokers.Kafka(c) },
			Defaults: cluster.Defaults{Image: o.Image},
			Now:      time.Now,

			OwnNamespaceOnly: o.NoNodesAndStorage,
		},
		applier: &apply.Applier{
			Writer: m.GetClient(), Live: m.GetAPIReader(),
			Kafka:  func(c *v1alpha1.Cluster) (apply.Kafka, error) { return o.Brokers.Kafka(c) },
			Events: m.GetEventRecorder(desired.FieldOwner),
		},
		drop:   o.Brokers.Drop,
		memory: memory,
		wait:   wait,
	})
}

// cacheOptions keeps the caches to what is the operator's: of kinds that everybody has, only objects with its label.
func cacheOptions(namespace string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"app.kubernetes.io/managed-by": desired.FieldOwner})}
	o := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.StatefulSet{}:           ours,
			&corev1.ConfigMap{}:             ours,
			&corev1.PersistentVolumeClaim{}: ours,
			&corev1.Pod{}:                   ours,
			&corev1.Service{}:               ours,
			&corev1.ServiceAccount{}:        ours,
			&policyv1.PodDisruptionBudget{}: ours,
		},
		// No informer comes into being by a mere read: a kind that is not watched is read at the server, on purpose.
		ReaderFailOnMissingInformer: true,
	}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return o
}

package cluster

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// Snapshot is everything that one planning sees. Compute changes nothing in it.
//
// Objects of the Cluster's own namespace are plain values, absent if they are nil or not in the list: an observer that cannot read one of
// them has no snapshot, and fails. Everything else is a fact, which may be unknown.
type Snapshot struct {
	Now      time.Time
	Cluster  *v1alpha1.Cluster
	Defaults Defaults
	// Fresh are new random identities. They are taken if the metadata quorum was not founded yet, and left otherwise.
	Fresh Identities

	Objects Objects
	// Pods are those that the Cluster's labels select and claims those of its StatefulSet, in any order.
	Pods   []corev1.Pod
	Claims []corev1.PersistentVolumeClaim

	// StorageClasses has those that exist.
	StorageClasses fact.Fact[[]storagev1.StorageClass]
	// Nodes has the node of each pod that is on one, by name. A known nil is a node that is gone.
	Nodes map[string]fact.Fact[*corev1.Node]

	// Brokers is what each broker says of itself, by node id; those of the pods are asked.
	Brokers map[int32]fact.Fact[adminapi.Readiness]
	// Verdicts are the answers to "is it safe to stop this one broker?", by node id. Those of [Candidates] are asked for.
	Verdicts map[int32]fact.Fact[adminapi.Verdict]
	// Settings are those that were altered for all brokers of the cluster while they ran, by name. Defaults and files are not in it. The
	// value of a secret is unknown and empty.
	Settings fact.Fact[map[string]string]
	Metadata fact.Fact[Metadata]

	// Failures are what went wrong with the actions of the last plan, one line each: "delete pod a-0: forbidden: ...". The shell
	// keeps them in memory, and drops them when a later plan was carried out whole.
	Failures []string
}

// Defaults are the operator's.
type Defaults struct {
	Image string // of the brokers, if the Cluster names none
}

// Identities are for the founding of a metadata quorum.
type Identities struct {
	ClusterID    string
	DirectoryIDs [MaxVoters]string
}

// Objects are the Cluster's own, other than pods and claims; nil is absent.
type Objects struct {
	StatefulSet      *appsv1.StatefulSet
	BrokersService   *corev1.Service
	BootstrapService *corev1.Service
	ConfigMap        *corev1.ConfigMap
	Budget           *policyv1.PodDisruptionBudget
	ServiceAccount   *corev1.ServiceAccount
}

// Metadata is what the brokers' metadata say of the cluster, all of it from the metadata of one moment or of moments close together.
type Metadata struct {
	// Registered are the brokers that are registered, fenced ones too, ascending.
	Registered []int32
	// Voters are the members of the metadata quorum that have a vote, ascending.
	Voters []int32
	// Replicas counts the replicas that each broker holds, and those that it is to hold, by node id. Absent is none.
	Replicas map[int32]int

	Partitions int
	// Offline counts partitions without a leader, UnderMinISR those with fewer in-sync replicas than min.insync.replicas and
	// UnderReplicated those with fewer in-sync replicas than replicas. A partition counts in each that is true of it.
	Offline, UnderMinISR, UnderReplicated int
	// Examples are some of those, as TOPIC-PARTITION: the first of each kind in the order of topic and partition, at most MaxExamples.
	OfflineExamples, UnderMinISRExamples, UnderReplicatedExamples []string
}

// MaxExamples bounds the partitions that are named in a message.
const MaxExamples = 3

// MaxVoters bounds the founders of a metadata quorum.
const MaxVoters = 5

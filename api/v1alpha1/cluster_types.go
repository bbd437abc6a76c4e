package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is a set of brokers that keep replicated, partitioned logs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:resource:shortName=flc,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Brokers",type=string,JSONPath=`.status.summary`,description="brokers that serve, of those wanted"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Bootstrap",type=string,JSONPath=`.status.bootstrapAddress`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a cluster's name is at most 40 of a-z, 0-9 and '-', and begins with a letter: pods and Services are named after it"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ClusterSpec is what a user wants of a cluster.
type ClusterSpec struct {
	// Number of brokers. Default 3. May be raised: the new brokers start empty and take new partitions. May be lowered only
	// when the brokers that would go (the highest numbers) hold no replica and no vote; until then they stay, and the
	// condition Progressing says why.
	//
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Replicas int32 `json:"replicas"`

	// Image of the brokers. Default: the release that the operator came with. May change: the brokers are restarted one by one.
	//
	// +optional
	Image string `json:"image,omitempty"`

	// Disk of each broker.
	Storage Storage `json:"storage"`

	// Compute resources of each broker. Default: none. May change: the brokers are restarted one by one.
	//
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// Broker settings by Kafka's names, for example log.retention.hours: "24". May change. Settings that brokers take live are
	// applied without a restart; for the others brokers are restarted one by one. Settings that the operator writes itself
	// (listeners, log.dirs, node.id, broker.rack, quorum and admin addresses) are refused.
	//
	// +kubebuilder:validation:MaxProperties=200
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['node.id','broker.id','log.dir','log.dirs','metadata.log.dir','listeners','advertised.listeners','listener.security.protocol.map','inter.broker.listener.name','security.inter.broker.protocol','controller.listener.names','controller.quorum.voters','controller.quorum.bootstrap.servers','process.roles','broker.rack','cluster.id','fairlead.admin.address']))",message="node.id, broker.id, log.dir(s), metadata.log.dir, listener settings, controller settings, process.roles, broker.rack, cluster.id and fairlead.admin.address are written by the operator: take them out of config"
	// +optional
	Config map[string]string `json:"config,omitempty"`

	// Where clients connect. Default: one listener "plain" on port 9092 inside the Kubernetes cluster. May change: the brokers are
	// restarted one by one.
	//
	// +kubebuilder:default={{name: "plain", port: 9092, type: "Internal"}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(l, self.exists_one(m, m.port == l.port))",message="two listeners have the same port"
	// +listType=map
	// +listMapKey=name
	// +optional
	Listeners []Listener `json:"listeners,omitempty"`

	// Rack awareness: replicas of a partition go to brokers on nodes with different values of a label. Default: off. May change: the
	// brokers are restarted one by one, and replicas stay where they are.
	//
	// +optional
	Rack *Rack `json:"rack,omitempty"`

	// What the brokers' pods have beside what the operator gives them. May change: labels and annotations are put on in place,
	// for everything else the brokers are restarted one by one. Labels and annotations by which the operator and Kubernetes know a
	// pod, those that begin with fairlead.io/ among them, are left out.
	//
	// +optional
	PodTemplate PodTemplate `json:"podTemplate,omitempty"`

	// Leave everything as it is: no object is written, no broker restarted, no topic of this cluster changed, until this is false
	// again. Status is still reported. Default false.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Storage is the disk of each broker.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot change: volumes cannot move to another class"
// +kubebuilder:validation:XValidation:rule="quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",message="size cannot shrink: Kubernetes cannot make a volume smaller"
type Storage struct {
	// Size of each broker's volume. May grow, if the storage class allows it, without a restart of more than one broker at a time.
	// Cannot shrink. A volume that was made larger by other means is left alone.
	//
	// +kubebuilder:validation:XValidation:rule="quantity(self).isGreaterThan(quantity('0'))",message="size must be positive"
	Size resource.Quantity `json:"size"`

	// Storage class of the volumes. Default: the default class of the Kubernetes cluster. Cannot change.
	//
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`

	// What becomes of the volumes when the Cluster is deleted, or of a broker's volume when the broker is removed. Retain (the
	// default) keeps them, Delete deletes them. May change at any time.
	//
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy is what happens to data when the object that describes it is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// The deletion policies.
const (
	Retain DeletionPolicy = "Retain"
	Delete DeletionPolicy = "Delete"
)

// Listener is a port for clients on every broker.
type Listener struct {
	// Name, in lower case; Kafka's listener name is this in upper case.
	//
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]{0,14}$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['internal', 'controller'])",message="the listener names internal and controller are taken"
	Name string `json:"name"`

	// Port.
	//
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="!(self in [9093, 9094])",message="ports 9093 (between brokers) and 9094 (admin endpoint) are taken"
	Port int32 `json:"port"`

	// Who reaches it. Internal (the default): clients inside the Kubernetes cluster.
	//
	// +kubebuilder:default=Internal
	// +optional
	Type ListenerType `json:"type,omitempty"`
}

// ListenerType is how a listener is reached.
//
// +kubebuilder:validation:Enum=Internal
type ListenerType string

// The types of listeners.
const InternalListener ListenerType = "Internal"

// Rack says where a broker's rack comes from.
type Rack struct {
	// Label of the node whose value is the rack. Default topology.kubernetes.io/zone.
	//
	// +kubebuilder:default="topology.kubernetes.io/zone"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +optional
	NodeLabel string `json:"nodeLabel,omitempty"`
}

// PodTemplate is what the brokers' pods have beside what the operator gives them. The fields are those of a pod.
type PodTemplate struct {
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Default: brokers of one cluster go to different nodes when they can.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// Seconds that a broker has to lead its leaderships away before it is killed. Default 120. It needs few.
	//
	// +kubebuilder:default=120
	// +kubebuilder:validation:Minimum=30
	// +optional
	TerminationGracePeriodSeconds int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// ClusterStatus is what the operator saw and does.
type ClusterStatus struct {
	// Generation of the spec that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions; docs/operations/conditions.md has all reasons.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Brokers that serve, of those wanted: 3/3.
	//
	// +optional
	Summary string `json:"summary,omitempty"`

	// Address for clients inside the Kubernetes cluster, as host:port.
	//
	// +optional
	BootstrapAddress string `json:"bootstrapAddress,omitempty"`

	// The metadata quorum's founding, written before it is done, so that it is done once.
	//
	// +optional
	Quorum *Quorum `json:"quorum,omitempty"`

	// One entry a broker, by number.
	//
	// +listType=map
	// +listMapKey=id
	// +optional
	Brokers []BrokerStatus `json:"brokers,omitempty"`

	// The one disruptive thing that is going on, if any. A restarted operator goes on with it.
	//
	// +optional
	Operation *Operation `json:"operation,omitempty"`

	// Brokers that exist, and the selector of their pods (for the scale subresource and tools).
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
}

// Quorum is the founding of the metadata quorum.
type Quorum struct {
	// Identity of the cluster, made once.
	ClusterID string `json:"clusterID"`
	// The first voters with the identities of their first directories. Only a broker with an empty volume takes its identity from here,
	// and only while the quorum is not yet formed.
	Voters []Voter `json:"voters"`
	// Brokers that the cluster was founded with. Defaults of settings that depend on the number of brokers go by it for ever.
	Brokers int32 `json:"brokers"`
	// min.insync.replicas that the cluster begins with. Founders write it into the metadata's first state, which must be the same for
	// all: until the quorum is formed an edit does not count.
	//
	// +optional
	MinInSyncReplicas string `json:"minInSyncReplicas,omitempty"`
	// The quorum was seen to have a leader: it is never founded again, and an empty volume joins as a new directory.
	Formed bool `json:"formed"`
}

// Voter is a broker with the identity of its directory.
type Voter struct {
	ID          int32  `json:"id"`
	DirectoryID string `json:"directoryID"`
}

// BrokerStatus is what is known of one broker.
type BrokerStatus struct {
	// Number of the broker: its node id in Kafka's protocol and the ordinal of its pod.
	ID int32 `json:"id"`
	// +optional
	Pod string `json:"pod,omitempty"`
	// Kubernetes node that the pod is on.
	//
	// +optional
	Node string `json:"node,omitempty"`
	// +optional
	Rack string `json:"rack,omitempty"`
	// What the broker does: recovering, joining, catching-up, serving, stopping, out-of-quorum; or, when it cannot be asked, what
	// Kubernetes says of the pod: Missing, Pending, ImagePullBackOff, CrashLoopBackOff, Terminating, Unreachable, and so on.
	State string `json:"state"`
	// What is wrong, empty when nothing is.
	//
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	DirectoryID string `json:"directoryID,omitempty"`
}

// OperationType is a disruptive thing.
type OperationType string

// The disruptive things.
const (
	Roll    OperationType = "Roll"
	ScaleIn OperationType = "ScaleIn"
)

// Operation is a disruptive thing that is going on: at most one a cluster.
type Operation struct {
	// Roll: brokers are restarted one after the other. ScaleIn: the broker with the highest number is taken away.
	Type OperationType `json:"type"`
	// Broker whose turn it is.
	Broker int32 `json:"broker"`
	// UID of the pod that is being replaced, so that it is deleted once.
	//
	// +optional
	PodUID string `json:"podUID,omitempty"`
	// When this broker's turn began.
	StartedAt metav1.Time `json:"startedAt"`
	// Why the brokers are restarted.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
}

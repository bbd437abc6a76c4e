package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Topic is a topic of a [Cluster] in the same namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:resource:shortName=flt,categories=fairlead
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Partitions",type=integer,JSONPath=`.status.partitions`
// +kubebuilder:printcolumn:name="RF",type=integer,JSONPath=`.status.replicationFactor`
// +kubebuilder:printcolumn:name="Under-replicated",type=integer,JSONPath=`.status.underReplicated`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Topic struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TopicSpec `json:"spec"`
	// +optional
	Status TopicStatus `json:"status,omitempty"`
}

// TopicList is a list of topics.
//
// +kubebuilder:object:root=true
type TopicList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Topic `json:"items"`
}

// TopicSpec is what a user wants of a topic: all of it is applied or nothing. While one part is impossible, or refused by the brokers, Ready
// is False and no other part is applied either.
//
// +kubebuilder:validation:XValidation:rule="has(self.topicName) == has(oldSelf.topicName) && (!has(self.topicName) || self.topicName == oldSelf.topicName)",message="topicName cannot change: make another Topic"
type TopicSpec struct {
	// The cluster, in the same namespace. Cannot change.
	//
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef cannot change: make another Topic"
	ClusterRef ClusterReference `json:"clusterRef"`

	// Name of the topic in Kafka: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'. Default: the name of this object. Cannot change.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._-]+$`
	// +kubebuilder:validation:XValidation:rule="self != '.' && self != '..'",message="a topic cannot be named '.' or '..'"
	// +optional
	TopicName string `json:"topicName,omitempty"`

	// Number of partitions. Default: num.partitions of the cluster when the topic is made, and then whatever it has. May be raised;
	// keys may then go to other partitions than before. Lowering it is impossible: Ready is False until it is put back.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Partitions *int32 `json:"partitions,omitempty"`

	// Replicas of each partition. Default: default.replication.factor of the cluster when the topic is made, and then whatever it
	// has. May be changed: the brokers copy some partitions at a time, which the condition Replicated tells of, and clients are served
	// meanwhile. With more than there are brokers Ready is False.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	ReplicationFactor *int32 `json:"replicationFactor,omitempty"`

	// Settings by Kafka's names, for example retention.ms: "86400000". May change, and are applied at once; one that is changed by other
	// means is put right. A setting that is taken out goes back to its default. Settings of the topic that were never here are left as
	// they are: those that it had before this object described it, and those that tools set.
	//
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Config map[string]string `json:"config,omitempty"`

	// What becomes of the topic and its records when this object is deleted. Retain (the default) keeps them, Delete deletes them: then
	// this object stays, with the finalizer fairlead.io/topic, until the topic is gone, or until the Cluster is gone or being
	// deleted itself, when it is let go at once. May change at any time.
	//
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ClusterReference names a Cluster in the same namespace.
type ClusterReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// TopicStatus is what the operator saw.
type TopicStatus struct {
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

	// Name of the topic in Kafka.
	//
	// +optional
	TopicName string `json:"topicName,omitempty"`

	// Kafka's id of the topic. Another id than before means that the topic was deleted and made again by other means.
	//
	// +optional
	TopicID string `json:"topicID,omitempty"`

	// +optional
	Partitions int32 `json:"partitions,omitempty"`
	// +optional
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`

	// Names of the settings that the topic has by this object: one that is taken out of the spec is taken back.
	//
	// +listType=set
	// +optional
	Settings []string `json:"settings,omitempty"`

	// Partitions with fewer in-sync replicas than replicas. Absent while there is no topic.
	//
	// +optional
	UnderReplicated *int32 `json:"underReplicated,omitempty"`

	// Partitions without a leader: nobody can write or read them. Absent while there is no topic.
	//
	// +optional
	Offline *int32 `json:"offline,omitempty"`
}

package conditions

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reasons of a Topic's conditions beside those that it shares with a Cluster's.
const (
	ClusterNotFound  Reason = "ClusterNotFound"
	ClusterNotReady  Reason = "ClusterNotReady"
	ClusterPaused    Reason = "ClusterPaused"
	NameInvalid      Reason = "NameInvalid"
	CannotShrink     Reason = "CannotShrink"
	NotEnoughBrokers Reason = "NotEnoughBrokers"
	Refused          Reason = "Refused"
	DeletionRefused  Reason = "DeletionRefused"
	Deleting         Reason = "Deleting"
	Moving           Reason = "Moving"
	Applied          Reason = "Applied"
	NotThere         Reason = "NotThere"
	Offline          Reason = "Offline"
	NameTaken        Reason = "NameTaken"
)

// topicRows are the reasons of a Topic, the worse first.
var topicRows = []Row{
	{Topic, Ready, ClusterNotFound, metav1.ConditionFalse, "There is no Cluster of that name in the namespace.", "The Cluster is made, or the Topic is deleted."},
	{Topic, Ready, NameInvalid, metav1.ConditionFalse, "Kafka does not allow the topic's name.", "Another Topic with a legal spec.topicName."},
	{Topic, Ready, NameTaken, metav1.ConditionFalse, "An older Topic has the same topic. This one does nothing.", "One of the two is deleted."},
	{Topic, Ready, ConfigInvalid, metav1.ConditionFalse, "The brokers refuse a setting of spec.config. The message has their words. The topic's settings stay as they are.", "The value is corrected."},
	{Topic, Ready, CannotShrink, metav1.ConditionFalse, "spec.partitions is lower than the topic's number of partitions. Partitions cannot be taken away.", "spec.partitions is raised again."},
	{Topic, Ready, NotEnoughBrokers, metav1.ConditionFalse, "spec.replicationFactor is higher than the number of brokers.", "More brokers, or a lower number."},
	{Topic, Ready, DeletionRefused, metav1.ConditionFalse, "The brokers refuse to delete the topic (delete.topic.enable=false).", "delete.topic.enable is true, or spec.deletionPolicy is Retain."},
	{Topic, Ready, Refused, metav1.ConditionFalse, "The brokers refuse a change. The message has their words.", "What the message says. The operator tries again."},
	{Topic, Ready, ClusterPaused, metav1.ConditionFalse, "The topic is not as wanted, and the Cluster is paused.", "spec.paused of the Cluster is false again."},
	{Topic, Ready, ClusterNotReady, metav1.ConditionUnknown, "The Cluster's brokers cannot be asked, so nothing is known of the topic.", "The Cluster's conditions say what is wrong there."},
	{Topic, Replicated, Offline, metav1.ConditionFalse, "Partitions have no leader.", "A broker with an in-sync or eligible replica comes back."},
	{Topic, Replicated, UnderReplicated, metav1.ConditionFalse, "Partitions have fewer in-sync replicas than replicas.", "Brokers come back or catch up."},
	{Topic, Replicated, ClusterNotReady, metav1.ConditionUnknown, "Nothing is known of the topic.", "As for Ready."},
	{Topic, Replicated, NotThere, metav1.ConditionUnknown, "There is no topic yet.", "It is made."},
	{Topic, Ready, Deleting, metav1.ConditionFalse, "The topic is being deleted.", "It is gone."},
	{Topic, Ready, Moving, metav1.ConditionFalse, "Replicas are being moved for another spec.replicationFactor.", "All are in sync."},
	{Topic, Ready, Applying, metav1.ConditionFalse, "The topic is being made or changed.", "It is as wanted."},
	{Topic, Ready, Applied, metav1.ConditionTrue, "The topic is as the spec wants it.", ""},
	{Topic, Replicated, InSync, metav1.ConditionTrue, "Every replica is in sync.", ""},
}

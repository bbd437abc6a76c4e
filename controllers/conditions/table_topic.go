package conditions

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reasons of a Topic's conditions beside those that it shares with a Cluster's.
const (
	ClusterNotFound  Reason = "ClusterNotFound"
	ClusterDeleting  Reason = "ClusterDeleting"
	ClusterNotReady  Reason = "ClusterNotReady"
	ClusterPaused    Reason = "ClusterPaused"
	NameInvalid      Reason = "NameInvalid"
	InternalTopic    Reason = "InternalTopic"
	Conflict         Reason = "Conflict"
	CannotShrink     Reason = "CannotShrink"
	NotEnoughBrokers Reason = "NotEnoughBrokers"
	Refused          Reason = "Refused"
	Retrying         Reason = "Retrying"
	DeletionRefused  Reason = "DeletionRefused"
	Deleting         Reason = "Deleting"
	Offline          Reason = "Offline"
	Creating         Reason = "Creating"
	Moving           Reason = "Moving"
	Applied          Reason = "Applied"
	TopicExisted     Reason = "TopicExisted"
)

// topicRows are the reasons of a Topic, the worse first.
var topicRows = []Row{
	{Topic, Ready, ClusterNotFound, metav1.ConditionFalse, "There is no Cluster of that name in the namespace.", "The Cluster is made, or the Topic is deleted."},
	{Topic, Ready, ClusterDeleting, metav1.ConditionFalse, "The Cluster is being deleted. A Topic that is deleted now waits for nothing.", "The Topic is deleted, or the Cluster is made again."},
	{Topic, Ready, NameInvalid, metav1.ConditionFalse, "Kafka does not allow the topic's name.", "Another Topic with a legal spec.topicName."},
	{Topic, Ready, InternalTopic, metav1.ConditionFalse, "The topic is one that the brokers keep for themselves. No Topic describes it.", "The Topic is deleted; the topic stays."},
	{Topic, Ready, Conflict, metav1.ConditionFalse, "An older Topic has the same topic. This one does nothing, not even when it is deleted.", "One of the two is deleted."},
	{Topic, Ready, ConfigInvalid, metav1.ConditionFalse, "The brokers refuse a setting of spec.config. The message has their words. Nothing of the spec is applied.", "The value is corrected."},
	{Topic, Ready, CannotShrink, metav1.ConditionFalse, "spec.partitions is lower than the topic's number of partitions. Partitions cannot be taken away. Nothing of the spec is applied.", "spec.partitions is raised again."},
	{Topic, Ready, NotEnoughBrokers, metav1.ConditionFalse, "spec.replicationFactor is higher than the number of brokers. Nothing of the spec is applied.", "More brokers, or a lower number."},
	{Topic, Ready, DeletionRefused, metav1.ConditionFalse, "The topic is to be deleted, and the brokers refuse it (delete.topic.enable=false).", "delete.topic.enable is true, or spec.deletionPolicy is Retain: then the topic stays."},
	{Topic, Ready, Refused, metav1.ConditionFalse, "The brokers refuse a change. The message has their words. Nothing of the spec is applied.", "What the message says. The operator tries again every 30 seconds."},
	{Topic, Ready, Offline, metav1.ConditionFalse, "Partitions have no leader: nobody can write or read them.", "A broker with an in-sync or eligible replica comes back."},
	{Topic, Ready, ClusterPaused, metav1.ConditionFalse, "The topic is not as wanted, and the Cluster is paused.", "spec.paused of the Cluster is false again."},
	{Topic, Ready, ClusterNotReady, metav1.ConditionUnknown, "The Cluster's brokers cannot be asked, so nothing is known of the topic. The rest of the status is what was seen last.", "The Cluster's conditions say what is wrong there."},
	{Topic, Replicated, UnderReplicated, metav1.ConditionFalse, "Partitions have fewer in-sync replicas than replicas.", "Brokers come back or catch up."},
	{Topic, Replicated, ClusterNotReady, metav1.ConditionUnknown, "Nothing is known of the topic.", "As for Ready."},
	{Topic, Ready, Retrying, metav1.ConditionFalse, "The brokers did not answer a change, or could not make it just then.", "The operator tries again within 30 seconds."},
	{Topic, Ready, Deleting, metav1.ConditionFalse, "The topic is being deleted.", "It is gone."},
	{Topic, Ready, Moving, metav1.ConditionFalse, "Replicas are being added or taken away for another spec.replicationFactor, some partitions at a time. Clients are served meanwhile.", "All are in sync. While it waits for brokers: they come back."},
	{Topic, Replicated, Moving, metav1.ConditionFalse, "As for Ready. The message says how many partitions are done.", "All are in sync."},
	{Topic, Ready, Creating, metav1.ConditionFalse, "The topic is being created.", "Brokers show it."},
	{Topic, Ready, Applying, metav1.ConditionFalse, "The topic is being changed.", "It is as wanted."},
	{Topic, Ready, Applied, metav1.ConditionTrue, "The topic is as the spec wants it, and every partition has a leader.", ""},
	{Topic, Replicated, InSync, metav1.ConditionTrue, "Every replica is in sync.", ""},
	{Topic, Adopted, TopicExisted, metav1.ConditionTrue, "The topic existed before the Topic, which describes it from now on. The condition is absent otherwise.", ""},
}

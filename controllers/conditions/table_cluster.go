package conditions

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reason is why a condition is as it is.
type Reason string

// Reasons of a Cluster's conditions; the table says what they mean.
const (
	Serving            Reason = "Serving"
	OfflinePartitions  Reason = "OfflinePartitions"
	UnderMinISR        Reason = "UnderMinISR"
	NoBrokers          Reason = "NoBrokers"
	NoQuorum           Reason = "NoQuorum"
	Founding           Reason = "Founding"
	BrokersUnreachable Reason = "BrokersUnreachable"
	InSync             Reason = "InSync"
	UnderReplicated    Reason = "UnderReplicated"
	AllReady           Reason = "AllReady"
	PodFailed          Reason = "PodFailed"
	ImageUnavailable   Reason = "ImageUnavailable"
	PodUnschedulable   Reason = "PodUnschedulable"
	NodeLost           Reason = "NodeLost"
	RackUnknown        Reason = "RackUnknown"
	BrokersNotReady    Reason = "BrokersNotReady"
	VolumesReady       Reason = "VolumesReady"
	DiskFull           Reason = "DiskFull"
	CannotExpand       Reason = "CannotExpand"
	ShrinkRefused      Reason = "ShrinkRefused"
	Resizing           Reason = "Resizing"
	ClassUnknown       Reason = "ClassUnknown"
	LargerThanWanted   Reason = "LargerThanWanted"
	Valid              Reason = "Valid"
	WithoutEffect      Reason = "WithoutEffect"
	ConfigInvalid      Reason = "ConfigInvalid"
	Converged          Reason = "Converged"
	ApplyFailed        Reason = "ApplyFailed"
	RollStopped        Reason = "RollStopped"
	ScaleInBlocked     Reason = "ScaleInBlocked"
	Rolling            Reason = "Rolling"
	ScalingOut         Reason = "ScalingOut"
	ScalingIn          Reason = "ScalingIn"
	ApplyingSettings   Reason = "ApplyingSettings"
	Applying           Reason = "Applying"
	PausedByUser       Reason = "Paused"
	AsWanted           Reason = "AsWanted"
)

// clusterRows are the reasons of a Cluster. The order is that of the summary: what comes first is worse.
var clusterRows = []Row{
	{Cluster, Available, NoBrokers, metav1.ConditionFalse, "No broker runs.", "BrokersReady says what each pod waits for."},
	{Cluster, Available, NoQuorum, metav1.ConditionFalse, "Brokers run, and no majority of the voters of the metadata quorum is there: nothing can be changed, and brokers without the quorum stop leading.", "The voters named in the message come back."},
	{Cluster, Available, OfflinePartitions, metav1.ConditionFalse, "Partitions have no leader: nobody can write or read them.", "A broker with an in-sync or eligible replica comes back. BrokersReady says which are away."},
	{Cluster, Available, UnderMinISR, metav1.ConditionFalse, "Partitions have fewer in-sync replicas than min.insync.replicas: producers with acks=all are refused. Reads go on.", "Brokers come back or catch up."},
	{Cluster, StorageReady, DiskFull, metav1.ConditionFalse, "A broker's disk has less free space than its reserve: it refuses writes, and serves reads and deletes.", "A larger spec.storage.size, a shorter retention, or deleted topics. It ends by itself when space is free."},
	{Cluster, BrokersReady, PodFailed, metav1.ConditionFalse, "A pod's container ends again and again, or cannot be made. The message names the pod and has the broker's last word, or the kubelet's.", "The cause is removed, for most by an edit of the Cluster, which is applied to the pod at once."},
	{Cluster, BrokersReady, ImageUnavailable, metav1.ConditionFalse, "The image of a pod cannot be had. The message names the pod and the image.", "spec.image is corrected, or the registry has the image and lets the nodes pull it."},
	{Cluster, BrokersReady, PodUnschedulable, metav1.ConditionFalse, "No node takes a pod. The message names the pod and has the scheduler's words.", "Room on a node, or an edit of the Cluster that asks for less; it is applied to the pod at once."},
	{Cluster, BrokersReady, NodeLost, metav1.ConditionFalse, "The node of a pod does not answer or is gone. The broker may still run there, so the pod is not replaced.", "The node comes back, or its Node object is deleted or tainted node.kubernetes.io/out-of-service by somebody who knows that it is off."},
	{Cluster, BrokersReady, RackUnknown, metav1.ConditionFalse, "The node of a pod has no label spec.rack.nodeLabel, or the operator cannot read it: the broker waits for its rack.", "The node gets the label, or spec.rack is taken out."},
	{Cluster, ConfigValid, ConfigInvalid, metav1.ConditionFalse, "spec.config has a value that no broker would start with. The brokers keep the settings they have; other changes are applied.", "The value in spec.config is corrected."},
	{Cluster, Progressing, ApplyFailed, metav1.ConditionFalse, "Kubernetes or the brokers refused something the operator did. The message has their words.", "What the message says, for example a missing permission. The operator tries again."},
	{Cluster, Progressing, RollStopped, metav1.ConditionFalse, "A broker that was restarted does not come back. The others are left as they are.", "The pod's cause is removed (BrokersReady); an edit of the Cluster is applied to that pod first."},
	{Cluster, Progressing, ScaleInBlocked, metav1.ConditionFalse, "spec.replicas is lower than the number of brokers, and a broker that would go holds replicas or a vote. It stays.", "Its replicas are moved to other brokers, or spec.replicas is raised again. A voter of the metadata quorum cannot go."},
	{Cluster, StorageReady, CannotExpand, metav1.ConditionFalse, "spec.storage.size is larger than the volumes, and their storage class does not let volumes grow, or the growing failed.", "The class gets allowVolumeExpansion: true, or what the message says of the claim is repaired."},
	{Cluster, StorageReady, ShrinkRefused, metav1.ConditionFalse, "spec.storage.size is smaller than what new volumes get. Volumes cannot shrink; nothing was changed.", "spec.storage.size is raised again."},
	{Cluster, Available, Founding, metav1.ConditionFalse, "The cluster is being made: its brokers have yet to form their metadata quorum.", "A majority of the first voters runs."},
	{Cluster, Replicated, UnderReplicated, metav1.ConditionFalse, "Partitions have fewer in-sync replicas than replicas.", "Brokers come back or catch up."},
	{Cluster, BrokersReady, BrokersNotReady, metav1.ConditionFalse, "A broker starts, recovers, catches up or stops. The message and status.brokers say what each does.", "It is ready after that."},
	{Cluster, Available, BrokersUnreachable, metav1.ConditionUnknown, "The operator cannot ask the brokers. Clients may well be served.", "The network between the operator and the brokers' ports 9093 and 9094 and listeners, or the brokers."},
	{Cluster, BrokersReady, BrokersUnreachable, metav1.ConditionUnknown, "The pods are ready, and the operator cannot ask all of them. It restarts none meanwhile.", "As for Available."},
	{Cluster, Replicated, BrokersUnreachable, metav1.ConditionUnknown, "The operator cannot ask the brokers.", "As for Available."},
	{Cluster, StorageReady, ClassUnknown, metav1.ConditionUnknown, "Volumes are to grow, and the operator cannot read their storage class. It does not try.", "The operator gets the permission to read storage classes."},
	{Cluster, Replicated, Founding, metav1.ConditionUnknown, "There is nothing to replicate yet.", "As for Available."},
	{Cluster, StorageReady, Resizing, metav1.ConditionFalse, "Volumes grow. Brokers go on meanwhile.", "The storage system is done."},
	{Cluster, Paused, PausedByUser, metav1.ConditionTrue, "spec.paused: the operator changes nothing and restarts nothing.", "spec.paused is false again."},
	{Cluster, Progressing, Founding, metav1.ConditionTrue, "The cluster is being made.", "Its quorum is formed."},
	{Cluster, Progressing, Rolling, metav1.ConditionTrue, "Brokers are restarted one after the other. The message says which is next and what it waits for.", "All brokers have what they are to start with."},
	{Cluster, Progressing, ScalingIn, metav1.ConditionTrue, "A broker that holds nothing is being taken away.", "It is gone and no longer registered."},
	{Cluster, Progressing, ScalingOut, metav1.ConditionTrue, "Brokers are being added.", "All serve."},
	{Cluster, Progressing, ApplyingSettings, metav1.ConditionTrue, "Settings are to be altered in the running brokers.", "The brokers answer."},
	{Cluster, Progressing, Applying, metav1.ConditionTrue, "Objects are being written.", "They are as wanted."},
	{Cluster, StorageReady, LargerThanWanted, metav1.ConditionTrue, "Volumes are larger than spec.storage.size. They are left alone.", ""},
	{Cluster, ConfigValid, WithoutEffect, metav1.ConditionTrue, "spec.config has settings that no broker knows: look for a misspelt name. The others are applied.", ""},
	{Cluster, Available, Serving, metav1.ConditionTrue, "Every partition has a leader and enough in-sync replicas to be written.", ""},
	{Cluster, Replicated, InSync, metav1.ConditionTrue, "Every replica is in sync.", ""},
	{Cluster, BrokersReady, AllReady, metav1.ConditionTrue, "Every broker serves.", ""},
	{Cluster, StorageReady, VolumesReady, metav1.ConditionTrue, "Every volume has the wanted size.", ""},
	{Cluster, ConfigValid, Valid, metav1.ConditionTrue, "spec.config is valid.", ""},
	{Cluster, Progressing, Converged, metav1.ConditionTrue, "Everything is as the spec wants it.", ""},
	{Cluster, Ready, AsWanted, metav1.ConditionTrue, "All of the above.", ""},
}

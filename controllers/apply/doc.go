// Package apply carries out the actions of a plan, in their order, all of them: they do not depend on each other. It decides nothing; it takes
// care that each action hits what the plan meant and nothing else:
//
//	objects          server-side apply as field owner "fairlead-operator", with force. An object of the same name that does not belong
//	                 to the Cluster is left alone: that is an error
//	pods             deleted with their UID as precondition, patched with the UID in the patch
//	claims           grown and deleted likewise
//	the StatefulSet  deleted alone: its pods and volumes stay
//	settings         sent to the brokers by Kafka's API
//	events           events.k8s.io/v1, about the Cluster
//
// What is gone already, or is another one of that name by now, is done as far as deletions go. Calls are bounded by the context.
package apply

package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ErrorCode is a protocol refusal: a value in a reply, not a Go error of the broker. Numbers and names are Kafka's.
type ErrorCode int16

// None means success.
const None ErrorCode = 0

// The codes that Kafka 4.4 defines.
const (
	UnknownServerError                     ErrorCode = -1  // UNKNOWN_SERVER_ERROR
	OffsetOutOfRange                       ErrorCode = 1   // OFFSET_OUT_OF_RANGE
	CorruptMessage                         ErrorCode = 2   // CORRUPT_MESSAGE
	UnknownTopicOrPartition                ErrorCode = 3   // UNKNOWN_TOPIC_OR_PARTITION
	InvalidFetchSize                       ErrorCode = 4   // INVALID_FETCH_SIZE
	LeaderNotAvailable                     ErrorCode = 5   // LEADER_NOT_AVAILABLE
	NotLeaderOrFollower                    ErrorCode = 6   // NOT_LEADER_FOR_PARTITION
	RequestTimedOut                        ErrorCode = 7   // REQUEST_TIMED_OUT
	BrokerNotAvailable                     ErrorCode = 8   // BROKER_NOT_AVAILABLE
	ReplicaNotAvailable                    ErrorCode = 9   // REPLICA_NOT_AVAILABLE
	MessageTooLarge                        ErrorCode = 10  // MESSAGE_TOO_LARGE
	StaleControllerEpoch                   ErrorCode = 11  // STALE_CONTROLLER_EPOCH
	OffsetMetadataTooLarge                 ErrorCode = 12  // OFFSET_METADATA_TOO_LARGE
	NetworkException                       ErrorCode = 13  // NETWORK_EXCEPTION
	CoordinatorLoadInProgress              ErrorCode = 14  // COORDINATOR_LOAD_IN_PROGRESS
	CoordinatorNotAvailable                ErrorCode = 15  // COORDINATOR_NOT_AVAILABLE
	NotCoordinator                         ErrorCode = 16  // NOT_COORDINATOR
	InvalidTopicException                  ErrorCode = 17  // INVALID_TOPIC_EXCEPTION
	RecordListTooLarge                     ErrorCode = 18  // RECORD_LIST_TOO_LARGE
	NotEnoughReplicas                      ErrorCode = 19  // NOT_ENOUGH_REPLICAS
	NotEnoughReplicasAfterAppend           ErrorCode = 20  // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	InvalidRequiredAcks                    ErrorCode = 21  // INVALID_REQUIRED_ACKS
	IllegalGeneration                      ErrorCode = 22  // ILLEGAL_GENERATION
	InconsistentGroupProtocol              ErrorCode = 23  // INCONSISTENT_GROUP_PROTOCOL
	InvalidGroupID                         ErrorCode = 24  // INVALID_GROUP_ID
	UnknownMemberID                        ErrorCode = 25  // UNKNOWN_MEMBER_ID
	InvalidSessionTimeout                  ErrorCode = 26  // INVALID_SESSION_TIMEOUT
	RebalanceInProgress                    ErrorCode = 27  // REBALANCE_IN_PROGRESS
	InvalidCommitOffsetSize                ErrorCode = 28  // INVALID_COMMIT_OFFSET_SIZE
	TopicAuthorizationFailed               ErrorCode = 29  // TOPIC_AUTHORIZATION_FAILED
	GroupAuthorizationFailed               ErrorCode = 30  // GROUP_AUTHORIZATION_FAILED
	ClusterAuthorizationFailed             ErrorCode = 31  // CLUSTER_AUTHORIZATION_FAILED
	InvalidTimestamp                       ErrorCode = 32  // INVALID_TIMESTAMP
	UnsupportedSaslMechanism               ErrorCode = 33  // UNSUPPORTED_SASL_MECHANISM
	IllegalSaslState                       ErrorCode = 34  // ILLEGAL_SASL_STATE
	UnsupportedVersion                     ErrorCode = 35  // UNSUPPORTED_VERSION
	TopicAlreadyExists                     ErrorCode = 36  // TOPIC_ALREADY_EXISTS
	InvalidPartitions                      ErrorCode = 37  // INVALID_PARTITIONS
	InvalidReplicationFactor               ErrorCode = 38  // INVALID_REPLICATION_FACTOR
	InvalidReplicaAssignment               ErrorCode = 39  // INVALID_REPLICA_ASSIGNMENT
	InvalidConfig                          ErrorCode = 40  // INVALID_CONFIG
	NotController                          ErrorCode = 41  // NOT_CONTROLLER
	InvalidRequest                         ErrorCode = 42  // INVALID_REQUEST
	UnsupportedForMessageFormat            ErrorCode = 43  // UNSUPPORTED_FOR_MESSAGE_FORMAT
	PolicyViolation                        ErrorCode = 44  // POLICY_VIOLATION
	OutOfOrderSequenceNumber               ErrorCode = 45  // OUT_OF_ORDER_SEQUENCE_NUMBER
	DuplicateSequenceNumber                ErrorCode = 46  // DUPLICATE_SEQUENCE_NUMBER
	InvalidProducerEpoch                   ErrorCode = 47  // INVALID_PRODUCER_EPOCH
	InvalidTxnState                        ErrorCode = 48  // INVALID_TXN_STATE
	InvalidProducerIDMapping               ErrorCode = 49  // INVALID_PRODUCER_ID_MAPPING
	InvalidTransactionTimeout              ErrorCode = 50  // INVALID_TRANSACTION_TIMEOUT
	ConcurrentTransactions                 ErrorCode = 51  // CONCURRENT_TRANSACTIONS
	TransactionCoordinatorFenced           ErrorCode = 52  // TRANSACTION_COORDINATOR_FENCED
	TransactionalIDAuthorizationFailed     ErrorCode = 53  // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
	SecurityDisabled                       ErrorCode = 54  // SECURITY_DISABLED
	OperationNotAttempted                  ErrorCode = 55  // OPERATION_NOT_ATTEMPTED
	KafkaStorageError                      ErrorCode = 56  // KAFKA_STORAGE_ERROR
	LogDirNotFound                         ErrorCode = 57  // LOG_DIR_NOT_FOUND
	SaslAuthenticationFailed               ErrorCode = 58  // SASL_AUTHENTICATION_FAILED
	UnknownProducerID                      ErrorCode = 59  // UNKNOWN_PRODUCER_ID
	ReassignmentInProgress                 ErrorCode = 60  // REASSIGNMENT_IN_PROGRESS
	DelegationTokenAuthDisabled            ErrorCode = 61  // DELEGATION_TOKEN_AUTH_DISABLED
	DelegationTokenNotFound                ErrorCode = 62  // DELEGATION_TOKEN_NOT_FOUND
	DelegationTokenOwnerMismatch           ErrorCode = 63  // DELEGATION_TOKEN_OWNER_MISMATCH
	DelegationTokenRequestNotAllowed       ErrorCode = 64  // DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
	DelegationTokenAuthorizationFailed     ErrorCode = 65  // DELEGATION_TOKEN_AUTHORIZATION_FAILED
	DelegationTokenExpired                 ErrorCode = 66  // DELEGATION_TOKEN_EXPIRED
	InvalidPrincipalType                   ErrorCode = 67  // INVALID_PRINCIPAL_TYPE
	NonEmptyGroup                          ErrorCode = 68  // NON_EMPTY_GROUP
	GroupIDNotFound                        ErrorCode = 69  // GROUP_ID_NOT_FOUND
	FetchSessionIDNotFound                 ErrorCode = 70  // FETCH_SESSION_ID_NOT_FOUND
	InvalidFetchSessionEpoch               ErrorCode = 71  // INVALID_FETCH_SESSION_EPOCH
	ListenerNotFound                       ErrorCode = 72  // LISTENER_NOT_FOUND
	TopicDeletionDisabled                  ErrorCode = 73  // TOPIC_DELETION_DISABLED
	FencedLeaderEpoch                      ErrorCode = 74  // FENCED_LEADER_EPOCH
	UnknownLeaderEpoch                     ErrorCode = 75  // UNKNOWN_LEADER_EPOCH
	UnsupportedCompressionType             ErrorCode = 76  // UNSUPPORTED_COMPRESSION_TYPE
	StaleBrokerEpoch                       ErrorCode = 77  // STALE_BROKER_EPOCH
	OffsetNotAvailable                     ErrorCode = 78  // OFFSET_NOT_AVAILABLE
	MemberIDRequired                       ErrorCode = 79  // MEMBER_ID_REQUIRED
	PreferredLeaderNotAvailable            ErrorCode = 80  // PREFERRED_LEADER_NOT_AVAILABLE
	GroupMaxSizeReached                    ErrorCode = 81  // GROUP_MAX_SIZE_REACHED
	FencedInstanceID                       ErrorCode = 82  // FENCED_INSTANCE_ID
	EligibleLeadersNotAvailable            ErrorCode = 83  // ELIGIBLE_LEADERS_NOT_AVAILABLE
	ElectionNotNeeded                      ErrorCode = 84  // ELECTION_NOT_NEEDED
	NoReassignmentInProgress               ErrorCode = 85  // NO_REASSIGNMENT_IN_PROGRESS
	GroupSubscribedToTopic                 ErrorCode = 86  // GROUP_SUBSCRIBED_TO_TOPIC
	InvalidRecord                          ErrorCode = 87  // INVALID_RECORD
	UnstableOffsetCommit                   ErrorCode = 88  // UNSTABLE_OFFSET_COMMIT
	ThrottlingQuotaExceeded                ErrorCode = 89  // THROTTLING_QUOTA_EXCEEDED
	ProducerFenced                         ErrorCode = 90  // PRODUCER_FENCED
	ResourceNotFound                       ErrorCode = 91  // RESOURCE_NOT_FOUND
	DuplicateResource                      ErrorCode = 92  // DUPLICATE_RESOURCE
	UnacceptableCredential                 ErrorCode = 93  // UNACCEPTABLE_CREDENTIAL
	InconsistentVoterSet                   ErrorCode = 94  // INCONSISTENT_VOTER_SET
	InvalidUpdateVersion                   ErrorCode = 95  // INVALID_UPDATE_VERSION
	FeatureUpdateFailed                    ErrorCode = 96  // FEATURE_UPDATE_FAILED
	PrincipalDeserializationFailure        ErrorCode = 97  // PRINCIPAL_DESERIALIZATION_FAILURE
	SnapshotNotFound                       ErrorCode = 98  // SNAPSHOT_NOT_FOUND
	PositionOutOfRange                     ErrorCode = 99  // POSITION_OUT_OF_RANGE
	UnknownTopicID                         ErrorCode = 100 // UNKNOWN_TOPIC_ID
	DuplicateBrokerRegistration            ErrorCode = 101 // DUPLICATE_BROKER_REGISTRATION
	BrokerIDNotRegistered                  ErrorCode = 102 // BROKER_ID_NOT_REGISTERED
	InconsistentTopicID                    ErrorCode = 103 // INCONSISTENT_TOPIC_ID
	InconsistentClusterID                  ErrorCode = 104 // INCONSISTENT_CLUSTER_ID
	TransactionalIDNotFound                ErrorCode = 105 // TRANSACTIONAL_ID_NOT_FOUND
	FetchSessionTopicIDError               ErrorCode = 106 // FETCH_SESSION_TOPIC_ID_ERROR
	IneligibleReplica                      ErrorCode = 107 // INELIGIBLE_REPLICA
	NewLeaderElected                       ErrorCode = 108 // NEW_LEADER_ELECTED
	OffsetMovedToTieredStorage             ErrorCode = 109 // OFFSET_MOVED_TO_TIERED_STORAGE
	FencedMemberEpoch                      ErrorCode = 110 // FENCED_MEMBER_EPOCH
	UnreleasedInstanceID                   ErrorCode = 111 // UNRELEASED_INSTANCE_ID
	UnsupportedAssignor                    ErrorCode = 112 // UNSUPPORTED_ASSIGNOR
	StaleMemberEpoch                       ErrorCode = 113 // STALE_MEMBER_EPOCH
	MismatchedEndpointType                 ErrorCode = 114 // MISMATCHED_ENDPOINT_TYPE
	UnsupportedEndpointType                ErrorCode = 115 // UNSUPPORTED_ENDPOINT_TYPE
	UnknownControllerID                    ErrorCode = 116 // UNKNOWN_CONTROLLER_ID
	UnknownSubscriptionID                  ErrorCode = 117 // UNKNOWN_SUBSCRIPTION_ID
	TelemetryTooLarge                      ErrorCode = 118 // TELEMETRY_TOO_LARGE
	InvalidRegistration                    ErrorCode = 119 // INVALID_REGISTRATION
	TransactionAbortable                   ErrorCode = 120 // TRANSACTION_ABORTABLE
	InvalidRecordState                     ErrorCode = 121 // INVALID_RECORD_STATE
	ShareSessionNotFound                   ErrorCode = 122 // SHARE_SESSION_NOT_FOUND
	InvalidShareSessionEpoch               ErrorCode = 123 // INVALID_SHARE_SESSION_EPOCH
	FencedStateEpoch                       ErrorCode = 124 // FENCED_STATE_EPOCH
	InvalidVoterKey                        ErrorCode = 125 // INVALID_VOTER_KEY
	DuplicateVoter                         ErrorCode = 126 // DUPLICATE_VOTER
	VoterNotFound                          ErrorCode = 127 // VOTER_NOT_FOUND
	InvalidRegularExpression               ErrorCode = 128 // INVALID_REGULAR_EXPRESSION
	RebootstrapRequired                    ErrorCode = 129 // REBOOTSTRAP_REQUIRED
	StreamsInvalidTopology                 ErrorCode = 130 // STREAMS_INVALID_TOPOLOGY
	StreamsInvalidTopologyEpoch            ErrorCode = 131 // STREAMS_INVALID_TOPOLOGY_EPOCH
	StreamsTopologyFenced                  ErrorCode = 132 // STREAMS_TOPOLOGY_FENCED
	ShareSessionLimitReached               ErrorCode = 133 // SHARE_SESSION_LIMIT_REACHED
	GroupDeletionFailed                    ErrorCode = 134 // GROUP_DELETION_FAILED
	StreamsTopologyDescriptionUpdateFailed ErrorCode = 135 // STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED
	ControllerIDNotRegistered              ErrorCode = 136 // CONTROLLER_ID_NOT_REGISTERED
)

// Err is the code as a Go error with Kafka's name and description, nil for [None].
func (c ErrorCode) Err() error { return kerr.ErrorForCode(int16(c)) }

// String is Kafka's name of the code, NONE for success.
func (c ErrorCode) String() string {
	if c == None {
		return "NONE"
	}
	if e := new(kerr.Error); errors.As(kerr.ErrorForCode(int16(c)), &e) {
		return e.Message
	}
	return kerr.UnknownServerError.Message
}

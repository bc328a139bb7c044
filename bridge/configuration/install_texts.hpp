// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The documents of `bridge install`. {space}, {name}, {plural} and the like are put in by fmt, so
/// that braces of yaml are doubled.
namespace cybele::bridge {

inline constexpr std::string_view kAccountText = R"(apiVersion: v1
kind: Namespace
metadata:
  name: {space}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: cybelectl-bridge
  namespace: {space}
)";

/// Of the kind, in each namespace that the bridge serves, or in all.
inline constexpr std::string_view kRulesText = R"(rules:
- apiGroups: [cybelectl.io]
  resources: [{plural}]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [cybelectl.io]
  resources: [{plural}/status]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, get, patch]
)";

/// Of ordinary Jobs, where the Bridge runs them.
inline constexpr std::string_view kJobRulesText = R"(- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, patch]
- apiGroups: [batch]
  resources: [jobs/status]
  verbs: [patch]
)";

/// Of pods that stand for jobs, with virtual nodes.
inline constexpr std::string_view kPodRulesText = R"(- apiGroups: [""]
  resources: [pods]
  verbs: [create, delete, list, watch]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
)";

/// Of pods that collect results for claims.
inline constexpr std::string_view kCollectorRulesText = R"(- apiGroups: [""]
  resources: [pods]
  verbs: [create, delete, get, list, watch]
)";

/// With a listener: whose tokens and certificates are shown to it, and what they may do.
inline constexpr std::string_view kListenerRoleText = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: cybelectl-bridge-{name}-reviews
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:auth-delegator}}
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: cybelectl-bridge-{name}-authorities
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
)";

inline constexpr std::string_view kNodeRoleText = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: cybelectl-bridge-{name}-nodes
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: cybelectl-bridge-{name}-nodes
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cybelectl-bridge-{name}-nodes}}
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: cybelectl-bridge-{name}-nodes
  namespace: kube-node-lease
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: cybelectl-bridge-{name}-nodes
  namespace: kube-node-lease
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: cybelectl-bridge-{name}-nodes}}
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
)";

/// Of its own RoleBindings, with `namespaces`.
inline constexpr std::string_view kBindingRulesText = R"(- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings]
  resourceNames: [cybelectl-bridge-{name}]
  verbs: [list, watch, patch]
)";

inline constexpr std::string_view kRoleText = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: cybelectl-bridge-{name}
{rules})";

/// The rights in one namespace. They last until the jobs there have ended, so that these can be
/// ended when the namespace is deleted.
inline constexpr std::string_view kBindingText = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: cybelectl-bridge-{name}
  namespace: {served}
  finalizers: [{finalizer}]
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cybelectl-bridge-{name}}}
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
)";

/// The rights in all namespaces.
inline constexpr std::string_view kClusterBindingText = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: cybelectl-bridge-{name}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cybelectl-bridge-{name}}}
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
)";

/// Of its Lease, in its own namespace. A right to create cannot name the object.
inline constexpr std::string_view kLeaseRoleText = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: cybelectl-bridge-{name}-lease
  namespace: {space}
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [cybelectl-bridge-{name}]
  verbs: [get, update]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: cybelectl-bridge-{name}-lease
  namespace: {space}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: cybelectl-bridge-{name}-lease}}
subjects:
- {{kind: ServiceAccount, name: cybelectl-bridge, namespace: {space}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: cybelectl-user
  labels:
    rbac.authorization.k8s.io/aggregate-to-admin: "true"
    rbac.authorization.k8s.io/aggregate-to-edit: "true"
rules:
- apiGroups: [cybelectl.io]
  resources: [slurmjobs, torquejobs]
  verbs: [create, delete, deletecollection, get, list, patch, update, watch]
)";

inline constexpr std::string_view kPoliciesText = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: cybelectl-accounts
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [cybelectl.io]
      apiVersions: [v1alpha1]
      operations: [CREATE, UPDATE]
      resources: [slurmjobs, torquejobs]
  validations:
  - expression: >-
      !has(object.spec.account) || (oldObject != null && has(oldObject.spec.account)) ||
      authorizer.group('cybelectl.io').resource('accounts').namespace(object.metadata.namespace)
      .name(object.spec.account).check('use').allowed()
    message: spec.account needs the verb use on accounts.cybelectl.io of that name
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: cybelectl-accounts
spec:
  policyName: cybelectl-accounts
  validationActions: [Deny]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: cybelectl-finalizer
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [cybelectl.io]
      apiVersions: [v1alpha1]
      operations: [CREATE, UPDATE]
      resources: [slurmjobs, torquejobs]
  matchConditions:
  - name: not-the-bridge
    expression: request.userInfo.username != 'system:serviceaccount:{space}:cybelectl-bridge'
  validations:
  - expression: >-
      (has(object.metadata.finalizers) && 'cybelectl.io/batch-job' in object.metadata.finalizers) ==
      (oldObject != null && has(oldObject.metadata.finalizers) &&
      'cybelectl.io/batch-job' in oldObject.metadata.finalizers) ||
      (has(object.metadata.deletionTimestamp) &&
      authorizer.requestResource.check('forget').allowed())
    message: only the bridge adds and removes the finalizer cybelectl.io/batch-job
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: cybelectl-finalizer
spec:
  policyName: cybelectl-finalizer
  validationActions: [Deny]
)";

/// Of Jobs that name the bridge in `managedBy`: the same two rules.
inline constexpr std::string_view kJobPolicyText = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: cybelectl-jobs
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [batch]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [jobs]
  matchConditions:
  - name: managed-by-the-bridge
    expression: has(object.spec.managedBy) && object.spec.managedBy == 'cybelectl.io/bridge'
  - name: not-the-bridge
    expression: request.userInfo.username != 'system:serviceaccount:{space}:cybelectl-bridge'
  variables:
  - name: account
    expression: >-
      has(object.metadata.annotations) && 'cybelectl.io/account' in object.metadata.annotations
      ? object.metadata.annotations['cybelectl.io/account'] : ''
  - name: oldAccount
    expression: >-
      oldObject != null && has(oldObject.metadata.annotations) &&
      'cybelectl.io/account' in oldObject.metadata.annotations
      ? oldObject.metadata.annotations['cybelectl.io/account'] : ''
  validations:
  - expression: >-
      variables.account == variables.oldAccount || (oldObject == null && authorizer
      .group('cybelectl.io').resource('accounts').namespace(object.metadata.namespace)
      .name(variables.account).check('use').allowed())
    message: >-
      annotation cybelectl.io/account needs the verb use on accounts.cybelectl.io of that name,
      and does not change
  - expression: >-
      (has(object.metadata.finalizers) && 'cybelectl.io/batch-job' in object.metadata.finalizers) ==
      (oldObject != null && has(oldObject.metadata.finalizers) &&
      'cybelectl.io/batch-job' in oldObject.metadata.finalizers) ||
      (has(object.metadata.deletionTimestamp) &&
      authorizer.group('cybelectl.io').resource('jobs').namespace(object.metadata.namespace)
      .name(object.metadata.name).check('forget').allowed())
    message: only the bridge adds and removes the finalizer cybelectl.io/batch-job
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: cybelectl-jobs
spec:
  policyName: cybelectl-jobs
  validationActions: [Deny]
)";

inline constexpr std::string_view kDeploymentText = R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: cybelectl-bridge-{name}
  namespace: {space}
spec:
  replicas: {replicas}
  strategy: {{type: Recreate}}
  selector:
    matchLabels: {{app: cybelectl-bridge-{name}}}
  template:
    metadata:
      labels: {{app: cybelectl-bridge-{name}}}
    spec:
      serviceAccountName: cybelectl-bridge
{placement}      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: bridge
        image: {image}
        args: [bridge, run, --config, /etc/cybelectl/bridge.yaml]
        env:
        - {{name: HOME, value: /run/cybelectl}}
        - {{name: CYBELE_STATE_DIR, value: /run/cybelectl/state}}
        - name: POD_IP
          valueFrom: {{fieldRef: {{fieldPath: status.podIP}}}}
        resources:
          requests: {{cpu: 50m, memory: 64Mi}}
          limits: {{memory: 256Mi}}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {{drop: [ALL]}}
          readOnlyRootFilesystem: true
        livenessProbe:
          exec:
            command: [cybelectl, bridge, status, --alive, --config, /etc/cybelectl/bridge.yaml]
          periodSeconds: 60
          timeoutSeconds: 10
          failureThreshold: 5
        volumeMounts:
        - {{name: configuration, mountPath: /etc/cybelectl, readOnly: true}}
        - {{name: keys, mountPath: /etc/cybelectl-keys, readOnly: true}}
        - {{name: run, mountPath: /run/cybelectl}}
        - {{name: tmp, mountPath: /tmp}}
      volumes:
      - name: configuration
        configMap: {{name: cybelectl-bridge-{name}}}
      - name: keys
        secret: {{secretName: cybelectl-bridge-{name}-keys, optional: true, defaultMode: 256}}
      - name: run
        emptyDir: {{}}
      - name: tmp
        emptyDir: {{}}
)";

/// Of two pods: on two nodes, where there are two.
inline constexpr std::string_view kPlacementText = R"(      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: {{app: cybelectl-bridge-{name}}}
)";

/// A share of the API server's requests for the bridge alone, which service accounts have together
/// otherwise.
inline constexpr std::string_view kFlowText = R"(apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata:
  name: cybelectl-bridge
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 10
    limitResponse:
      type: Queue
      queuing: {{queues: 8, handSize: 2, queueLengthLimit: 50}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata:
  name: cybelectl-bridge
spec:
  priorityLevelConfiguration: {{name: cybelectl-bridge}}
  matchingPrecedence: 1000
  distinguisherMethod: {{type: ByUser}}
  rules:
  - subjects:
    - kind: ServiceAccount
      serviceAccount: {{name: cybelectl-bridge, namespace: {space}}}
    resourceRules:
    - verbs: ['*']
      apiGroups: ['*']
      resources: ['*']
      clusterScope: true
      namespaces: ['*']
)";

} // namespace cybele::bridge

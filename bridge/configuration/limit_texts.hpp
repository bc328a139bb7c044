// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Admission policies of `bridge install` that limit the service account of the bridge further than
/// its rights can: to what is its own. {space} is put in by fmt, so that braces are doubled. The
/// same for each Bridge, since all of a cluster share the account.
namespace cybele::bridge {

/// With pods: its own only, without what a pod of a namespace could read of it.
inline constexpr std::string_view kPodLimitText = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: cybelectl-bridge-pods
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, DELETE]
      resources: [pods]
  matchConditions:
  - name: the-bridge
    expression: request.userInfo.username == 'system:serviceaccount:{space}:cybelectl-bridge'
  variables:
  - name: labels
    expression: >-
      request.operation == 'DELETE'
      ? (has(oldObject.metadata.labels) ? oldObject.metadata.labels : {{}})
      : (has(object.metadata.labels) ? object.metadata.labels : {{}})
  - name: containers
    expression: >-
      request.operation == 'DELETE' ? []
      : object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])
  - name: volumes
    expression: >-
      request.operation == 'DELETE' || !has(object.spec.volumes) ? [] : object.spec.volumes
  validations:
  - expression: >-
      'cybelectl.io/bridge' in variables.labels || 'cybelectl.io/collects-for' in variables.labels
    message: the bridge makes and deletes its own pods only
  - expression: >-
      variables.volumes.all(v, has(v.persistentVolumeClaim) || has(v.emptyDir) ||
      has(v.projected) && v.projected.sources.all(s, has(s.downwardAPI) ||
      has(s.serviceAccountToken) && has(s.serviceAccountToken.audience) &&
      s.serviceAccountToken.audience == 'cybelectl-bridge'))
    message: a pod of the bridge has no Secret, no ConfigMap, no token and no folder of its node
  - expression: >-
      request.operation == 'DELETE' || (has(object.spec.automountServiceAccountToken) &&
      !object.spec.automountServiceAccountToken)
    message: a pod of the bridge has no token of its service account
  - expression: >-
      variables.containers.all(c, !has(c.envFrom) &&
      (!has(c.env) || c.env.all(e, !has(e.valueFrom))) &&
      has(c.securityContext) && has(c.securityContext.allowPrivilegeEscalation) &&
      !c.securityContext.allowPrivilegeEscalation)
    message: a container of the bridge has neither variables of Secrets nor privileges
  - expression: >-
      request.operation == 'DELETE' ||
      (!has(object.spec.hostNetwork) || !object.spec.hostNetwork) &&
      (!has(object.spec.hostPID) || !object.spec.hostPID) &&
      (!has(object.spec.hostIPC) || !object.spec.hostIPC)
    message: a pod of the bridge does not share namespaces of its node
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: cybelectl-bridge-pods
spec:
  policyName: cybelectl-bridge-pods
  validationActions: [Deny]
)";

/// With virtual nodes: no other node.
inline constexpr std::string_view kNodeLimitText = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: cybelectl-bridge-nodes
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [nodes, nodes/status]
  matchConditions:
  - name: the-bridge
    expression: request.userInfo.username == 'system:serviceaccount:{space}:cybelectl-bridge'
  validations:
  - expression: >-
      has(object.metadata.labels) && 'cybelectl.io/bridge' in object.metadata.labels &&
      (oldObject == null || (has(oldObject.metadata.labels) &&
      'cybelectl.io/bridge' in oldObject.metadata.labels))
    message: the bridge makes and changes virtual nodes only
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: cybelectl-bridge-nodes
spec:
  policyName: cybelectl-bridge-nodes
  validationActions: [Deny]
)";

/// With ordinary Jobs: only those that name it.
inline constexpr std::string_view kJobLimitText = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: cybelectl-bridge-jobs
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [batch]
      apiVersions: [v1]
      operations: [UPDATE]
      resources: [jobs, jobs/status]
  matchConditions:
  - name: the-bridge
    expression: request.userInfo.username == 'system:serviceaccount:{space}:cybelectl-bridge'
  validations:
  - expression: has(object.spec.managedBy) && object.spec.managedBy == 'cybelectl.io/bridge'
    message: the bridge changes Jobs that name it only
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: cybelectl-bridge-jobs
spec:
  policyName: cybelectl-bridge-jobs
  validationActions: [Deny]
)";

} // namespace cybele::bridge

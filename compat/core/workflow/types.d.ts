// Generated from compat/layout.json; do not edit.

export type { RunFailureClass, SpawnEffectEvidence, SpawnFailureClass, SpawnFailureEvidence, SpawnOutputSource, SpawnPartialOutputEvidence, SpawnRefusalEvidence, SpawnResult, WorkflowRepoEvidence, WorkflowRepoSnapshot } from '../../../index.js'

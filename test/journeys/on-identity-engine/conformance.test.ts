/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../conformance.test.ts'

/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../hidden-factors.test.ts'

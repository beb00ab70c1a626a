/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../identity-provider-factors.test.ts'

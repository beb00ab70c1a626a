/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../activation.test.ts'

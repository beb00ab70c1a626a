/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../duo.test.ts'

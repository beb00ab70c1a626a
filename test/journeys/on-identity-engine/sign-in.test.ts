/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../sign-in.test.ts'

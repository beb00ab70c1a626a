/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../passwords.test.ts'

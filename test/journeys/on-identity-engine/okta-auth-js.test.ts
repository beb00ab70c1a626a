/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../okta-auth-js.test.ts'

/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../sso-redirects.test.ts'

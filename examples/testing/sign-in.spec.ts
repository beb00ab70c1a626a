import { expect } from '@playwright/test'
import { test } from './fixtures'

test.beforeEach(async ({ page }) => {
  await page.goto('/')
  await page.getByLabel('Username').fill('ada')
  await page.getByLabel('Password').fill('Demo-Password-1')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Code').waitFor()
})

test('a code of the authenticator app', async ({ page, sandbox }) => {
  await page.getByLabel('Code').fill(sandbox.control.totpCode('ada'))
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByText('Auditors')).toBeVisible()
})

test('a push', async ({ page, sandbox }) => {
  await page.getByRole('button', { name: 'Send a push' }).click()
  await sandbox.control.answerPush('ada', 'approve')
  await expect(page.getByText('Auditors')).toBeVisible()
})

test('too many requests to the org', async ({ page, sandbox }) => {
  sandbox.control.setFaults({ authn: [{ kind: 'rate-limited', retrySeconds: 60 }] })
  await page.getByRole('button', { name: 'Send a push' }).click()
  await expect(page.getByRole('alert')).toBeVisible()
})

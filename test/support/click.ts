import type { JSHandle, Locator } from 'playwright-core'
import { TRY_MS, type UntilParts, until } from './until.ts'

/**
 * Clicks with the mouse, once. A form that moves between press and release gets no click event: the mouse was pressed on
 * one element and released on another. So the click is repeated until the target receives one.
 */
export async function click(
  target: Locator,
  { timeoutMs }: Pick<UntilParts, 'timeoutMs'> = {},
): Promise<void> {
  let heard: JSHandle<{ isClicked: boolean }> | undefined
  // A click that leads to another page takes the listener along
  const isClicked = () => heard?.evaluate((clicks) => clicks.isClicked).catch(() => true)
  await until(
    async () => {
      if (await isClicked()) return true
      heard = await target.evaluateHandle(listen, undefined, { timeout: TRY_MS })
      await target.click({ timeout: TRY_MS })
      return isClicked()
    },
    { what: `a click on ${target}`, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
  )
}

interface Target {
  addEventListener(type: string, listener: () => void, options: { capture: boolean; once: boolean }): void
}

/** Runs in the page. */
function listen(element: Target) {
  const clicks = { isClicked: false }
  element.addEventListener(
    'click',
    () => {
      clicks.isClicked = true
    },
    { capture: true, once: true },
  )
  return clicks
}

import { actions, element } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { type CallBroker, text, time } from './access.js'

interface OwnDevice {
  readonly id: string
  readonly label: string
  readonly lastUsedAt: string
  readonly current: boolean
}

/** The user's devices. After a device is forgotten, its next sign-in requires a factor again. */
export async function createOwnDevices(callBroker: CallBroker): Promise<HTMLElement[]> {
  const place = element('div', { tabindex: '-1' })

  const show = async () => {
    const { devices } = await callBroker<{ devices: OwnDevice[] }>('GET', '/api/v1/devices')
    const forget = (path: string) => async () => {
      await callBroker('DELETE', `/api/v1/devices${path}`)
      await show()
      place.focus() // the pressed button no longer exists
    }
    const items = devices.map((device) =>
      element(
        'li',
        {},
        element(
          'span',
          {},
          element('strong', {}, device.label, device.current && ' (this device)'),
          element('span', { class: 'soft' }, ' last sign-in ', time(device.lastUsedAt)),
        ),
        forgetButton(device, forget(`/${device.id}`)),
      ),
    )
    place.replaceChildren(
      element('ul', { class: 'sessions' }, ...items),
      devices.length === 0
        ? text('All devices are forgotten.')
        : actions(button('Forget all devices', forget(''))),
    )
  }
  await show()
  return [place]
}

function forgetButton({ label, lastUsedAt }: OwnDevice, forget: () => Promise<void>): HTMLButtonElement {
  const made = button('Forget', forget)
  made.setAttribute('aria-label', `Forget ${label}, last sign-in ${lastUsedAt}`)
  return made
}

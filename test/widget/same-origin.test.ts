import { widgetContract } from './widget-contract.ts'

widgetContract('on the broker’s origin')

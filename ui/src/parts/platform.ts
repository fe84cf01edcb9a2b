/** Whether keys have the names of a Mac. */
export const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

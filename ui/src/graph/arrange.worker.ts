import { arrange, type Shape } from "./arrange";

self.onmessage = ({ data }: MessageEvent<{ number: number; shape: Shape }>) => {
  self.postMessage({ number: data.number, places: arrange(data.shape) });
};

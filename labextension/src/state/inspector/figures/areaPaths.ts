/** SVG paths of stacked areas and stepped lines over requests. */
import type { IKindSeries } from './kindSeries';

interface IPlotShape {
  readonly width: number;
  readonly height: number;
  /** The value at the top. */
  readonly most: number;
}

/** Returns, for each drawn column, the request with the largest window among those that share it. */
function drawnRequests(total: ArrayLike<number>, width: number): Int32Array {
  const count = total.length;
  const columns = Math.min(count, Math.max(Math.floor(width), 1));
  const requests = new Int32Array(columns);
  for (let column = 0; column < columns; column++) {
    const first = Math.floor((column * count) / columns);
    const end = Math.floor(((column + 1) * count) / columns);
    let best = first;
    for (let request = first + 1; request < end; request++) {
      if ((total[request] ?? 0) > (total[best] ?? 0)) {
        best = request;
      }
    }
    requests[column] = best;
  }
  return requests;
}

/** Returns the areas, the topmost first: each reaches from the axis up, so that no gap shows between two. */
export function areaPaths(
  series: IKindSeries,
  shape: IPlotShape
): { name: string; path: string }[] {
  const { width, height, most } = shape;
  const requests = drawnRequests(series.total, width);
  const sums = new Float64Array(requests.length);
  const step = width / Math.max(requests.length, 1);
  const xs = Array.from(
    requests,
    (_, column) => `H${roundToTenth(column * step)}`
  );
  const scale = height / most;
  const paths = series.names.map((name, layer) => {
    const values = series.layers[layer];
    const pieces = [`M0 ${height}`];
    let lastY = -1;
    for (let column = 0; column < requests.length; column++) {
      const sum = (sums[column] ?? 0) + (values?.[requests[column] ?? 0] ?? 0);
      sums[column] = sum;
      const y = roundToTenth(height - sum * scale);
      // A run of equal heights is one line.
      if (y !== lastY) {
        if (column > 0) {
          pieces.push(xs[column] ?? '');
        }
        pieces.push(`V${y}`);
        lastY = y;
      }
    }
    pieces.push(`H${width}V${height}Z`);
    return { name, path: pieces.join('') };
  });
  return paths.reverse();
}

/** Returns a stepped line through the known values; it stops where one is not known. */
export function linePath(
  values: ArrayLike<number | null>,
  { width, height, most }: IPlotShape
): string {
  const step = width / Math.max(values.length, 1);
  const pieces: string[] = [];
  let lastY: number | null = null;
  for (let request = 0; request < values.length; request++) {
    const value = values[request] ?? null;
    const y =
      value === null
        ? null
        : roundToTenth(height - (Math.min(value, most * 1.05) / most) * height);
    if (y !== lastY) {
      const x = roundToTenth(request * step);
      if (lastY !== null) {
        pieces.push(`H${x}`);
      }
      if (y !== null) {
        pieces.push(lastY === null ? `M${x} ${y}` : `V${y}`);
      }
    }
    lastY = y;
  }
  if (lastY !== null) {
    pieces.push(`H${width}`);
  }
  return pieces.join('');
}

/** Rounds to a tenth of a pixel. */
export function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Returns round numbers for the lines behind a picture, at most five. */
export function axisTicks(most: number): number[] {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  const step =
    [1, 2, 2.5, 5, 10].map(tick => tick * power).find(tick => tick >= rough) ??
    rough;
  const ticks: number[] = [];
  for (let at = step; at <= most * 0.98; at += step) {
    ticks.push(at);
  }
  return ticks;
}

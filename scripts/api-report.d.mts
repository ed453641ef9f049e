export declare const reportFile: string;
export declare function apiReport(): string;

TC_H_ROOT: int
